import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { describe, expect, test } from 'vitest'
import { canary } from '../../packages/server/testing/canaries/values.ts'
import { startGitServer } from '../../packages/server/testing/git-server.ts'
import { startScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { HookBench } from '../../packages/server/testing/hook-bench.ts'
import { shareServer } from '../../packages/server/testing/shared-server.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { processesOf } from '../../packages/server/testing/processes.ts'
import { until } from '../../packages/server/testing/until.ts'
import { verifies } from '../verifies.ts'
import type { Loose } from '../../packages/server/testing/multi-user-server.ts'
import { finish, run, serveAnn } from '../../packages/server/testing/conversation-starts.ts'

const shared = shareServer()

type Hook = { command: string; timeout?: number; async?: boolean; on_error?: 'allow' | 'deny' }
const all = (...hooks: Hook[]) => [{ matcher: '*', hooks }]

/** A hook that appends its input to a file of the workspace and then runs `then`. */
const noting = (file: string, then = 'true') => `cat >> ${file}; echo >> ${file}; ${then}`

/** Expects that the parent of each tree event is the tree event before it. */
function expectOneBranch(events: Loose[]): void {
  const tree = events.filter(({ kind }) => kind !== 'ConversationStateUpdateEvent')
  expect(tree.slice(1).map(({ parent_id }) => parent_id)).toEqual(tree.slice(0, -1).map(({ id }) => id))
}

describe('PreToolUse hooks', () => {
  const deny = `if grep -q 'rm -rf'; then echo 'no deleting here' >&2; exit 2; fi`

  verifies(
    [
      'seed.hook-config.matcher.exact',
      'seed.hook-config.matcher.regex-detected',
      'seed.hook-config.matcher.regex-slashes',
      'seed.hook-config.matcher.wildcard',
    ],
    'a PreToolUse hook refuses blocked calls, lets allowed calls run, and runs only for matching tools',
    async () => {
      await using bench = await HookBench.on(shared(), [
        run('rm -rf everything; touch deleted'),
        run('touch allowed'),
        finish,
      ])
      const id = await bench.id({
        pre_tool_use: [
          {
            matcher: 'terminal',
            hooks: [{ command: `cat > now; cat now >> exact; echo >> exact; { ${deny}; } < now` }],
          },
          { matcher: '/term.*/', hooks: [{ command: noting('slashes') }] },
          { matcher: 'term.+|browser', hooks: [{ command: noting('detected') }] },
          { matcher: 'term', hooks: [{ command: noting('never') }] },
          { matcher: '*', hooks: [{ command: noting('every') }] },
        ],
      })
      const info = await bench.rest(id)
      expect(info.execution_status).toBe('finished')
      expect(info.blocked_actions).toEqual({})
      const events = await bench.events(id)
      const [refused] = events.filter(({ kind }) => kind === 'UserRejectObservation')
      expect(refused).toMatchObject({ rejection_source: 'hook', rejection_reason: 'no deleting here' })
      expect(bench.model.requests[1]!.text).toContain('no deleting here')
      const actions = events.filter(({ kind }) => kind === 'ActionEvent')
      const at = (event: Loose) => events.indexOf(event)
      for (const action of actions) {
        const looks = events.filter(({ kind, action_id }) => kind === 'HookExecutionEvent' && action_id === action.id)
        expect(looks.length).toBeGreaterThan(0)
        for (const look of looks) expect(at(look)).toBeLessThan(at(action))
      }
      expectOneBranch(events)
      const calls = async (file: string) =>
        (await bench.read(file)).map(({ tool_input }) => tool_input.command ?? 'finish')
      expect(await calls('exact')).toEqual(['rm -rf everything; touch deleted', 'touch allowed'])
      expect(await calls('slashes'), 'a block skips the following hooks').toEqual(['touch allowed'])
      expect(await calls('detected')).toEqual(['touch allowed'])
      expect(await calls('every')).toEqual(['touch allowed', 'finish'])
      await expect(bench.read('never')).rejects.toThrow('ENOENT')
      await expect(readFile(bench.dir.file('work', 'deleted'))).rejects.toThrow('ENOENT')
      await readFile(bench.dir.file('work', 'allowed'))
      expect(bench.model.violations).toEqual([])
    },
  )

  test('a PreToolUse hook blocks after kill -9 and in a fork', async () => {
    await using bench = await HookBench.alone([finish, run('rm -rf x; touch deleted'), finish])
    const id = await bench.id({ pre_tool_use: all({ command: deny }) })
    await bench.rest(id)
    await bench.restart()
    const { body: fork } = await bench.server.call('POST', `/api/conversations/${id}/fork`, {})
    for (const each of [id, fork.id]) {
      expect((await bench.info(each)).hook_config.pre_tool_use[0].hooks[0].command).toBe(deny)
      await bench.send(each, 'delete it')
      await until(async () => (await bench.of(each, 'UserRejectObservation')).length === 1)
      expect((await bench.rest(each)).execution_status).toBe('finished')
    }
    await expect(readFile(bench.dir.file('work', 'deleted'))).rejects.toThrow('ENOENT')
  })

  verifies(
    'seed.conversation-info.blocked_actions.meaning',
    'a blocked call in a waiting batch survives kill -9 and is refused when the batch is approved',
    async () => {
      const two = {
        toolCalls: [run('rm -rf x; touch deleted'), run('touch allowed')].flatMap(({ toolCalls }) => toolCalls!),
      }
      await using bench = await HookBench.alone([two, finish])
      const { body } = await bench.begin({ pre_tool_use: all({ command: deny }) }, 'go', {
        confirmation_policy: { kind: 'AlwaysConfirm' },
      })
      await until(async () => (await bench.info(body.id)).execution_status === 'waiting_for_confirmation')
      await bench.restart()
      const [blocked] = await bench.of(body.id, 'ActionEvent')
      expect((await bench.info(body.id)).blocked_actions).toEqual({ [blocked.id]: 'no deleting here' })
      await bench.server.call('POST', `/api/conversations/${body.id}/events/respond_to_confirmation`, { accept: true })
      const info = await bench.rest(body.id)
      expect(info).toMatchObject({ execution_status: 'finished', blocked_actions: {} })
      await readFile(bench.dir.file('work', 'allowed'))
      await bench.restart()
      expect((await bench.info(body.id)).blocked_actions).toEqual({})
    },
  )

  test('an interrupt rejects a blocked call and removes its block', async () => {
    const two = { toolCalls: [run('echo begun; sleep 60'), run('rm -rf x')].flatMap(({ toolCalls }) => toolCalls!) }
    await using bench = await HookBench.on(shared(), [two, finish])
    const id = await bench.id({ pre_tool_use: all({ command: deny }) })
    await until(async () => Object.keys((await bench.info(id)).blocked_actions).length === 1)
    await bench.server.call('POST', `/api/conversations/${id}/interrupt`)
    expect(await bench.info(id)).toMatchObject({ execution_status: 'paused', blocked_actions: {} })
    await bench.send(id, 'go on')
    expect((await bench.rest(id)).execution_status).toBe('finished')
    expect(bench.model.violations).toEqual([])
  })

  test('a hook gets the call on standard input, names in its environment and no secrets of the server', async () => {
    await using bench = await HookBench.alone([run('true'), finish], { PARLEY_LLM_API_KEY: canary('profile_key') })
    const id = await bench.id({
      pre_tool_use: [{ matcher: 'terminal', hooks: [{ command: 'cat > input; env > environment; pwd > cwd' }] }],
    })
    await bench.rest(id)
    const [input] = await bench.read('input')
    const working_dir = bench.dir.file('work')
    expect(input).toMatchObject({
      event_type: 'PreToolUse',
      tool_name: 'terminal',
      tool_input: { kind: 'TerminalAction', command: 'true' },
      tool_response: null,
      message: null,
      session_id: id,
      working_dir,
      metadata: {},
    })
    expect((await bench.of(id, 'HookExecutionEvent'))[0].hook_input).toMatchObject(
      input.tool_input.command ? { session_id: id } : {},
    )
    const environment = await readFile(bench.dir.file('work', 'environment'), 'utf8')
    for (const prefix of ['PARLEY', 'OPENHANDS']) {
      expect(environment).toContain(`${prefix}_PROJECT_DIR=${working_dir}\n`)
      expect(environment).toContain(`${prefix}_SESSION_ID=${id}\n`)
      expect(environment).toContain(`${prefix}_EVENT_TYPE=PreToolUse\n`)
      expect(environment).toContain(`${prefix}_TOOL_NAME=terminal\n`)
    }
    expect(environment).not.toMatch(/SESSION_API_KEY|PARLEY_LLM/)
    expect(environment).not.toContain(canary('llm_key'))
    expect((await readFile(bench.dir.file('work', 'cwd'), 'utf8')).trim()).toBe(working_dir)
  })

  test('a hook that does not end is stopped with all its processes, and on_error decides the result (F13)', async () => {
    await using bench = await HookBench.on(shared(), [run('touch ran'), finish])
    const hook = { command: 'sleep 4711 & (setsid sleep 4711); sleep 4711', timeout: 1 }
    const open = await bench.id({ pre_tool_use: [{ matcher: 'terminal', hooks: [{ ...hook, on_error: 'allow' }] }] })
    await bench.rest(open)
    const [look] = await bench.of(open, 'HookExecutionEvent')
    expect(look).toMatchObject({
      success: false,
      blocked: false,
      exit_code: -1,
      error: 'The hook did not end within 1 s and was stopped.',
    })
    await readFile(bench.dir.file('work', 'ran'))
    const closed = await bench.id({ pre_tool_use: [{ matcher: 'terminal', hooks: [hook] }] })
    await bench.rest(closed)
    const [refused] = await bench.of(closed, 'UserRejectObservation')
    expect(refused.rejection_reason).toContain('did not end within 1 s')
    await until(async () => (await processesOf(bench.dir.path, 'sleep 4711')).length === 0)
  })

  test.each(['exit 1', 'kill -9 $$', '/nowhere/guard', `echo '{"decision":"maybe"}'`])(
    'a call is refused when the hook before it fails with %s, and a message is not',
    async (command) => {
      await using bench = await HookBench.on(shared(), [run('touch ran'), finish])
      const hooks = [{ hooks: [{ command }] }]
      const id = await bench.id({ user_prompt_submit: hooks, pre_tool_use: hooks })
      await bench.rest(id)
      const looks = await bench.of(id, 'HookExecutionEvent')
      expect(looks.slice(0, 2)).toMatchObject([{ blocked: false }, { blocked: true }])
      const [refused] = await bench.of(id, 'UserRejectObservation')
      expect(refused).toMatchObject({ rejection_source: 'hook', rejection_reason: expect.stringContaining('failed') })
      await expect(readFile(bench.dir.file('work', 'ran'))).rejects.toThrow('ENOENT')
    },
  )

  test('a hook that prints half a gigabyte fills neither memory nor log', async () => {
    await using bench = await HookBench.alone([run('true'), finish])
    const flood = `head -c 512M /dev/zero | tr '\\0' x; printf '%s' "$(head -c 70000 /dev/zero | tr '\\0' y)" >&2; exit 2`
    const id = await bench.id({ pre_tool_use: [{ matcher: 'terminal', hooks: [{ command: flood, timeout: 60 }] }] })
    await until(async () => (await bench.of(id, 'UserRejectObservation')).length === 1, 60_000)
    const [look] = await bench.of(id, 'HookExecutionEvent')
    expect(look).toMatchObject({ blocked: true, exit_code: 2 })
    for (const text of [look.stdout, look.stderr, look.reason]) {
      expect(text).toHaveLength(50_000)
      expect(text).toMatch(/\[cut: the rest is left out\]$/)
    }
    const status = await readFile(`/proc/${bench.server.process.pid}/status`, 'utf8')
    expect(Number(/VmHWM:\s+(\d+) kB/.exec(status)![1])).toBeLessThan(350_000)
    await bench.rest(id)
  }, 90_000)

  test('an async hook is not awaited and blocks nothing', async () => {
    await using bench = await HookBench.on(shared(), [run('touch ran'), finish])
    const hook = { command: noting('seen', 'sleep 4712; exit 2'), async: true }
    const id = await bench.id({ pre_tool_use: [{ matcher: 'terminal', hooks: [hook] }] })
    expect((await bench.rest(id)).execution_status).toBe('finished')
    await readFile(bench.dir.file('work', 'ran'))
    await until(async () => (await processesOf(bench.dir.path, 'sleep 4712')).length > 0)
    await bench.server.call('POST', `/api/conversations/${id}/stop`)
    await until(async () => (await processesOf(bench.dir.path, 'sleep 4712')).length === 0)
  })
})

test('a PostToolUse hook gets the result, cannot block it, and is stored before it', async () => {
  await using bench = await HookBench.on(shared(), [run('echo hello'), finish])
  const id = await bench.id({
    post_tool_use: [
      { matcher: 'terminal', hooks: [{ command: noting('after', 'exit 2') }, { command: noting('second') }] },
    ],
  })
  expect((await bench.rest(id)).execution_status).toBe('finished')
  const [seen] = await bench.read('after')
  expect(seen).toMatchObject({ event_type: 'PostToolUse', tool_response: { exit_code: 0 } })
  expect(await bench.read('second')).toHaveLength(1)
  const events = await bench.events(id)
  const [observation] = events.filter(({ kind }) => kind === 'ObservationEvent')
  const looks = events.filter(({ kind }) => kind === 'HookExecutionEvent')
  expect(looks.map(({ blocked, exit_code }) => [blocked, exit_code])).toEqual([
    [false, 2],
    [false, 0],
  ])
  for (const look of looks) expect(events.indexOf(look)).toBeLessThan(events.indexOf(observation))
  expect(observation.observation.content[0].text).toContain('hello')
  expectOneBranch(events)
})

describe('UserPromptSubmit hooks', () => {
  // The hook blocks and adds context. The block must win, under the id that the hook got (F14).
  const guard = `cat > prompt; if grep -q swordfish prompt; then echo '{"decision":"deny","reason":"a password","additionalContext":"never seen"}'; else echo '{"additionalContext":"be kind"}'; fi`
  const config = { user_prompt_submit: all({ command: guard }) }

  verifies(
    'seed.conversation-info.blocked_messages.meaning',
    'a blocked message ends the run without a model request, even as the first message',
    async () => {
      await using bench = await HookBench.on(shared(), [finish, finish, finish])
      const id = await bench.id(config, 'my password is swordfish')
      const info = await bench.rest(id)
      expect(info.execution_status).toBe('finished')
      expect(bench.model.requests).toHaveLength(0)
      const [message] = await bench.of(id, 'MessageEvent')
      expect(info.blocked_messages).toEqual({ [message.id]: 'a password' })
      expect(info.last_user_message_id).toBe(message.id)
      expect((await bench.of(id, 'HookExecutionEvent'))[0]).toMatchObject({ blocked: true, message_id: message.id })
      expectOneBranch(await bench.events(id))
    },
  )

  test('a message that a hook blocked is owed no answer in a fork (F14)', async () => {
    await using bench = await HookBench.on(shared(), [finish])
    const id = await bench.id(config, 'my password is swordfish')
    await bench.rest(id)
    const { body: fork } = await bench.server.call('POST', `/api/conversations/${id}/fork`, {})
    expect((await bench.server.call('POST', `/api/conversations/${fork.id}/run`)).status).toBe(200)
    expect((await bench.rest(fork.id)).execution_status).toBe('finished')
    expect(bench.model.requests).toHaveLength(0)
  })

  test('a blocked text never reaches the model: not with the next message, not after kill -9, not in a fork', async () => {
    await using bench = await HookBench.alone([finish, finish, finish, finish])
    const id = await bench.id(config, 'hello')
    await bench.rest(id)
    expect(bench.model.requests[0]!.text).toContain('be kind')
    expect((await bench.of(id, 'MessageEvent'))[0].extended_content[0].text).toBe('be kind')
    await bench.send(id, 'now swordfish')
    await until(async () => Object.keys((await bench.info(id)).blocked_messages).length === 1)
    await bench.rest(id)
    expect(bench.model.requests).toHaveLength(1)
    await bench.send(id, 'second question')
    await until(() => bench.model.requests.length === 2)
    await bench.rest(id)
    await bench.restart()
    await bench.send(id, 'third question')
    await until(() => bench.model.requests.length === 3)
    await bench.rest(id)
    const { body: fork } = await bench.server.call('POST', `/api/conversations/${id}/fork`, {})
    expect(Object.values(fork.blocked_messages)).toEqual(['a password'])
    await bench.send(fork.id, 'swordfish again')
    await bench.rest(fork.id)
    await bench.send(fork.id, 'fourth question')
    await until(() => bench.model.requests.length === 4)
    await bench.rest(fork.id)
    expect(bench.sent).toContain('fourth question')
    expect(bench.sent).not.toContain('swordfish')
    expect(bench.model.violations).toEqual([])
  })

  verifies('seed.conversation-info.last_user_message_id.null', 'a run without a message checks no block', async () => {
    await using bench = await HookBench.on(shared(), [finish])
    const id = await bench.id({ ...config, stop: all({ command: noting('stops') }) }, 'swordfish')
    await bench.rest(id)
    await expect(bench.read('stops')).rejects.toThrow('ENOENT')
    expect((await bench.server.call('POST', `/api/conversations/${id}/navigate`, { event_id: null })).status).toBe(200)
    expect(await bench.info(id)).toMatchObject({
      last_user_message_id: null,
      blocked_messages: { [(await bench.of(id, 'MessageEvent'))[0].id]: 'a password' },
    })
    await bench.server.call('POST', `/api/conversations/${id}/run`)
    await until(() => bench.model.requests.length === 1)
    await bench.rest(id)
    expect(await bench.read('stops')).toHaveLength(1)
    expect(bench.sent).not.toContain('swordfish')
  })

  test('a slow hook delays only its message (F65)', async () => {
    await using bench = await HookBench.on(shared(), [finish, finish])
    const slow = `cat > prompt; until [ -e open ]; do sleep 0.05; done`
    const id = await bench.id({ user_prompt_submit: all({ command: slow }) }, null)
    await until(
      async () => (await bench.server.call('GET', `/api/conversations/${id}/status`)).body.status === 'RUNNING',
    )
    const sending = bench.send(id, 'wait for me')
    const behind = bench.send(id, 'and then me')
    await until(async () =>
      readFile(bench.dir.file('work', 'prompt')).then(
        () => true,
        () => false,
      ),
    )
    expect((await bench.server.call('POST', `/api/conversations/${id}/pause`)).status).toBe(200)
    expect((await bench.info(id)).execution_status).toBe('paused')
    await writeFile(bench.dir.file('work', 'open'), '')
    expect([(await sending).status, (await behind).status]).toEqual([200, 200])
    const texts = (await bench.of(id, 'MessageEvent')).filter(({ source }) => source === 'user')
    expect(texts.map(({ llm_message }) => llm_message.content[0].text)).toEqual(['wait for me', 'and then me'])
  })
})

describe('Stop hooks', () => {
  test('a denied finish continues the run with the feedback, and an allowed one ends it', async () => {
    await using bench = await HookBench.on(shared(), [finish, run('touch tests-pass'), finish])
    const hook = `cat > stop; [ -e tests-pass ] || { echo '{"decision":"deny","reason":"r","additionalContext":"3 tests fail"}'; }`
    const id = await bench.id({ stop: all({ command: hook }) })
    expect((await bench.rest(id)).execution_status).toBe('finished')
    expect(bench.model.requests).toHaveLength(3)
    const [, feedback] = await bench.of(id, 'MessageEvent')
    expect(feedback).toMatchObject({ source: 'environment', llm_message: { role: 'user' } })
    expect(feedback.llm_message.content[0].text).toBe('[Stop hook feedback] 3 tests fail')
    expect(bench.model.requests[1]!.text).toContain('[Stop hook feedback] 3 tests fail')
    expect((await bench.read('stop'))[0]).toMatchObject({ event_type: 'Stop', metadata: { reason: 'agent_finished' } })
    expect((await bench.of(id, 'HookExecutionEvent')).map(({ blocked }) => blocked)).toEqual([true, false])
    expectOneBranch(await bench.events(id))
  })

  test('a Stop hook that always denies ends at max_iterations, and one that fails allows the stop', async () => {
    await using bench = await HookBench.on(shared(), [finish, finish, finish, finish, finish])
    const { body } = await bench.begin({ stop: all({ command: 'exit 2' }) }, 'go', { max_iterations: 3 })
    expect((await bench.rest(body.id)).execution_status).toBe('error')
    expect(bench.model.requests).toHaveLength(3)
    const failing = await bench.id({ stop: all({ command: '/no/such/program' }, { command: 'kill -9 $$' }) })
    expect((await bench.rest(failing)).execution_status).toBe('finished')
    const looks = await bench.of(failing, 'HookExecutionEvent')
    expect(looks.map(({ success, exit_code }) => [success, exit_code])).toEqual([
      [false, 127],
      [false, -1],
    ])
  })

  test('a Stop hook runs again after kill -9 during its run', async () => {
    await using bench = await HookBench.alone([finish])
    const id = await bench.id({ stop: all({ command: noting('stops', 'until [ -e open ]; do sleep 0.05; done') }) })
    await until(async () =>
      bench.read('stops').then(
        () => true,
        () => false,
      ),
    )
    await bench.restart(() => writeFile(bench.dir.file('work', 'open'), ''))
    expect((await bench.rest(id)).execution_status).toBe('finished')
    expect(await bench.read('stops')).toHaveLength(2)
    expect(bench.model.requests).toHaveLength(1)
  })
})

test('SessionStart runs before the first message and SessionEnd at the close and the deletion, and neither at a restart', async () => {
  await using bench = await HookBench.alone([finish, finish])
  const id = await bench.id({
    session_start: all({ command: noting('sessions', 'exit 2') }),
    session_end: all({ command: noting('sessions', 'exit 2') }),
  })
  expect((await bench.rest(id)).execution_status, 'neither can block').toBe('finished')
  const kinds = (await bench.events(id))
    .map(({ kind }) => kind)
    .filter((kind) => kind !== 'ConversationStateUpdateEvent')
  expect(kinds.slice(0, 3)).toEqual(['SystemPromptEvent', 'HookExecutionEvent', 'MessageEvent'])
  await bench.restart()
  await bench.send(id, 'more')
  await until(() => bench.model.requests.length === 2)
  await bench.rest(id)
  const seen = async () => (await bench.read('sessions')).map(({ event_type }) => event_type)
  expect(await seen()).toEqual(['SessionStart'])
  await bench.server.call('POST', `/api/conversations/${id}/stop`)
  expect(await seen()).toEqual(['SessionStart', 'SessionEnd'])
  await bench.server.call('POST', `/api/conversations/${id}/start`)
  await until(async () => (await seen()).length === 3)
  await until(async () => (await bench.server.call('GET', `/api/conversations/${id}/status`)).body.status === 'RUNNING')
  expectOneBranch(await bench.events(id))
  await bench.server.call('DELETE', `/api/conversations/${id}`)
  expect(await seen()).toEqual(['SessionStart', 'SessionEnd', 'SessionStart', 'SessionEnd'])
})

test('an unsupported or unknown hook is refused at the start of the conversation', async () => {
  await using bench = await HookBench.on(shared(), [])
  for (const tool of ['terminal', 'TaskTrackerTool', 'no_such_tool']) {
    const { status, body } = await bench.begin({ stop: [{ hooks: [{ type: 'agent', prompt: 'x', tools: [tool] }] }] })
    expect([status, JSON.stringify(body)]).toEqual([422, expect.stringMatching(/can change something|not registered/)])
  }
  expect((await bench.begin({ pre_tool_use: [], on_coffee: [] })).status).toBe(422)
})

verifies(
  'seed.hook-config.file',
  "a project's own file counts where the operator trusts the project, and nowhere else (F12)",
  async () => {
    await using dir = await tempDir()
    const project = async (name: string, text: string) => {
      const file = dir.file(name, '.openhands', 'hooks.json')
      await mkdir(dirname(file), { recursive: true })
      await writeFile(file, text)
      await chmod(file, 0o644)
      return dir.file(name)
    }
    const hooks = { hooks: { Stop: [{ hooks: [{ command: 'npm test' }] }] } }
    const trusted = await project('trusted', JSON.stringify(hooks))
    const stranger = await project('stranger', JSON.stringify(hooks))
    const broken = await project('trusted/broken', '{')
    await using bench = await HookBench.alone([], { PARLEY_TRUSTED_HOOKS: `${trusted}*` })
    const load = async (project_dir?: unknown) => {
      const { status, body } = await bench.server.call('POST', '/api/hooks', { project_dir })
      return [status, body.hook_config?.stop[0].hooks[0].command ?? body.hook_config]
    }
    expect(await load(trusted)).toEqual([200, 'npm test'])
    expect(await load(`${stranger}/../trusted`)).toEqual([200, 'npm test'])
    expect(await load(stranger)).toEqual([200, null])
    expect(await load(`${trusted}/../stranger`)).toEqual([200, null])
    expect(await load(broken)).toEqual([200, null])
    expect(await load(dir.file('nothing'))).toEqual([200, null])
    expect(await load()).toEqual([200, null])
    expect((await load(7))[0]).toBe(422)
  },
)

describe('hooks of a cloned repository', () => {
  test.each([true, false])('the hooks of a repository run only when it is trusted: %s', async (isTrusted) => {
    await using git = await startGitServer()
    const hooks = { pre_tool_use: [{ matcher: 'terminal', hooks: [{ command: 'echo not here >&2; exit 2' }] }] }
    await git.add('acme/shop', { files: { '.openhands/hooks.json': JSON.stringify(hooks) } })
    await using model = await startScriptedModel({ by: 'turn', answers: [run('true'), finish] })
    await using dir = await tempDir()
    const trusted: Record<string, string> = isTrusted ? { PARLEY_TRUSTED_HOOKS: `${git.host}/acme/*` } : {}
    await using ann = await serveAnn(dir.file('data'), { git, model }, trusted)
    const { conversation_id: id } = await ann.begin({
      repository: 'acme/shop',
      git_provider: 'gitlab',
      initial_user_msg: 'go',
    })
    const events = await ann.events(id)
    const { detail } = events.find(({ value }) => value?.phase === 'ready').value
    expect(detail).toMatch(isTrusted ? /hooks.json is in force/ : /left alone: .*acme\/shop is not among trusted_hooks/)
    expect(events.some(({ kind }) => kind === 'UserRejectObservation')).toBe(isTrusted)
    expect((await ann.info(id)).hook_config === null).toBe(!isTrusted)
    const { json: fork } = await ann.call('POST', `/api/conversations/${id}/fork`, {})
    await ann.progressWhen(fork.id, ({ status }) => status === 'RUNNING')
    expect((await ann.info(fork.id)).hook_config?.pre_tool_use.length ?? 0, 'once, also in a fork').toBe(
      isTrusted ? 1 : 0,
    )
  })
})
