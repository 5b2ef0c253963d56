import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { canary } from '../../packages/server/testing/canaries/values.ts'
import { startGitServer, type GitServer } from '../../packages/server/testing/git-server.ts'
import { startScriptedModel, type ScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { verifies } from '../verifies.ts'
import { bytesOf, type Loose } from '../../packages/server/testing/multi-user-server.ts'
import {
  finish,
  outputs,
  phasesOf,
  run,
  serveAnn,
  userTexts,
  type Ann,
} from '../../packages/server/testing/conversation-starts.ts'

const TOKEN = `${canary('git_token')}+v/Kx_token-of-ann=`
const storeToken = (ann: Ann, token: string) =>
  ann.settings({ secrets_store: { provider_tokens: { gitlab: { token } } } })

/** Reads the command lines of all processes again and again; the git server answers a request after the next reading. */
function watchCommands(git: GitServer): AsyncDisposable & { seen(): string } {
  const seen = new Set<string>()
  const read = async () => {
    const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
    for (const pid of pids) seen.add(await readFile(join('/proc', pid, 'cmdline'), 'utf8').catch(() => ''))
  }
  let isOver = false
  let reading = Promise.resolve()
  const watching = (async () => {
    while (!isOver) await (reading = read())
  })()
  git.beforeAnswer = async () => {
    await reading
    await reading
  }
  return {
    seen: () => [...seen].join('\n').replaceAll('\0', ' '),
    async [Symbol.asyncDispose]() {
      isOver = true
      await watching
    },
  }
}

/** All readable encodings of a token. */
const spellings = (token: string) => [
  token,
  encodeURIComponent(token),
  Buffer.from(token).toString('base64').replace(/=+$/, ''),
  Buffer.from(`oauth2:${token}`).toString('base64').replace(/=+$/, ''),
]

describe('a repository', () => {
  test('a public repository is cloned at its branch, shallow, with the git identity of the settings', async () => {
    await using git = await startGitServer()
    await git.add('acme/tools/shop', { branches: ['release'] })
    const commit = 'echo x > new; git add new; git commit -qm mine; git log -1 --format="%an <%ae> %cn <%ce>"'
    await using model = await startScriptedModel({
      by: 'turn',
      answers: [
        run('pwd; git branch --show-current; cat branch.txt'),
        run(commit),
        run('git config user.name'),
        finish,
      ],
    })
    await using dir = await tempDir()
    await using ann = await serveAnn(dir.file('data'), { git, model })
    await ann.settings({ git_user_name: 'Ann Example', git_user_email: 'ann@example.org' })
    const body = {
      repository: 'acme/tools/shop',
      git_provider: 'git_host_2',
      selected_branch: 'release',
      initial_user_msg: 'go',
    }
    const started = await ann.begin(body)
    const id = started.conversation_id
    expect(started).toEqual({ status: 'ok', conversation_id: id, message: null, conversation_status: 'RUNNING' })

    const events = await ann.events(id)
    expect(phasesOf(events)).toEqual([
      'workspace started',
      'workspace done',
      'repository started',
      'repository done',
      'branch started',
      'branch done',
      'setup started',
      'setup done',
      'skills started',
      'skills done',
      'agent started',
      'agent done',
      'ready done',
    ])
    const [where, who, local] = outputs(events)
    const clone: string = (await ann.info(id)).workspace.working_dir
    // Each node has a data directory of its own.
    expect(clone.replace(/\/data-\d\//, '/data/')).toBe(dir.file('data', 'workspaces', id, 'shop'))
    expect(where).toContain(`${clone}\nrelease\nrelease`)
    expect(who).toContain('Ann Example <ann@example.org> Ann Example <ann@example.org>')
    expect(local).toContain('Ann Example')
    expect(await ann.progress(id)).toMatchObject({
      status: 'RUNNING',
      runtime_status: 'STATUS$READY',
      selected_repository: 'acme/tools/shop',
      selected_branch: 'release',
      git_provider: 'git_host_2',
      phase: 'ready',
      code: null,
    })
    expect(model.requests.map(({ text }) => text).join()).toContain(`${git.host}/acme/tools/shop is cloned to ${clone}`)
    expect(git.requests.every(({ password }) => password === null)).toBe(true)
  })

  verifies(
    ['design.start.phases', 'seed.service.create-optional'],
    'a private repository is read and written with the stored token, which appears nowhere',
    async () => {
      await using git = await startGitServer()
      await git.add('acme/shop')
      git.mode = 'private'
      git.password = TOKEN
      await using watch = watchCommands(git)
      const push = 'GITLAB_TOKEN="$GITLAB_TOKEN" git push -q -u origin HEAD && git remote -v && cat .git/config'
      await using model = await startScriptedModel({
        by: 'turn',
        answers: [
          run('echo x > new; git add new; git commit -qm mine; git log -1 --format="%an <%ae>"'),
          run(push),
          finish,
        ],
      })
      await using dir = await tempDir()
      await using ann = await serveAnn(dir.file('data'), { git, model })
      await storeToken(ann, TOKEN)
      const body = { repository: 'acme/shop', git_provider: 'gitlab', initial_user_msg: 'go' }
      const { conversation_id: id } = await ann.begin(body)
      const commands = watch.seen()
      const branch = `parley/${id.slice(0, 8)}`
      expect(await ann.progress(id)).toMatchObject({ execution_status: 'finished', selected_branch: branch })
      const events = await ann.events(id)
      expect(outputs(events)[0]).toContain('Parley <noreply@parley.invalid>')
      expect(await git.git('acme/shop', 'log', '-1', '--format=%s', branch)).toBe('mine\n')
      expect(git.requests.some(({ user, password }) => user === 'oauth2' && password === TOKEN)).toBe(true)

      expect(commands).toContain('git clone')
      const everything = {
        commands,
        events: JSON.stringify(events),
        info: JSON.stringify(await ann.info(id)),
        log: ann.stderr(),
        disk: await bytesOf(dir.path),
        asked: model.requests.map(({ text }) => text).join('\n'),
      }
      for (const [place, text] of Object.entries(everything)) {
        for (const spelling of spellings(TOKEN))
          expect(text.includes(spelling), `${place} holds ${spelling}`).toBe(false)
      }
    },
  )

  test('a repository of another host does not receive the token, even when its provider is named', async () => {
    await using git = await startGitServer()
    await using other = await startGitServer()
    await other.add('acme/shop')
    other.mode = 'private'
    await using model = await startScriptedModel({ by: 'turn', answers: [finish] })
    await using dir = await tempDir()
    const hosts = JSON.stringify({ gitlab: git.url, enterprise_sso: other.url })
    await using ann = await serveAnn(dir.file('data'), { git, model }, { PARLEY_GIT_HOSTS: hosts })
    await storeToken(ann, TOKEN)
    const { conversation_id: id } = await ann.begin({
      repository: `${other.url}/acme/shop.git`,
      git_provider: 'gitlab',
    })
    expect(await ann.progress(id)).toMatchObject({ status: 'STOPPED', code: 'GIT$AUTHENTICATION_FAILED' })
    expect(other.requests.length).toBeGreaterThan(0)
    expect(other.requests.every(({ password }) => password === null)).toBe(true)
  })

  test("a repository is not read with credentials of the server's account", async () => {
    await using git = await startGitServer()
    await git.add('acme/shop')
    git.mode = 'private'
    git.password = TOKEN
    await using model = await startScriptedModel({ by: 'turn', answers: [finish] })
    await using dir = await tempDir()
    const login = `http://somebody:${encodeURIComponent(TOKEN)}@${git.host}`
    await writeFile(dir.file('.netrc'), `machine 127.0.0.1 login somebody password ${TOKEN}\n`, { mode: 0o600 })
    await writeFile(
      dir.file('.gitconfig'),
      `[credential]\n\thelper = store\n[url "${login}/"]\n\tinsteadOf = ${git.url}/\n`,
    )
    await writeFile(dir.file('.git-credentials'), `${login}\n`)
    await using ann = await serveAnn(dir.file('data'), { git, model }, { HOME: dir.path })
    const { conversation_id: id } = await ann.begin({ repository: 'acme/shop', git_provider: 'gitlab' })
    expect(await ann.progress(id)).toMatchObject({ status: 'STOPPED', code: 'GIT$AUTHENTICATION_FAILED' })
    expect(git.requests.map(({ password }) => password)).toEqual([null])
  })

  test('a repository over plain http is refused unless its host is configured', async () => {
    await using git = await startGitServer()
    await using model = await startScriptedModel({ by: 'turn', answers: [finish] })
    await using dir = await tempDir()
    await using ann = await serveAnn(dir.file('data'), { model })
    const { conversation_id: id } = await ann.begin({ repository: `${git.url}/acme/shop.git` })
    expect(await ann.progress(id)).toMatchObject({ phase: 'repository', code: 'GIT$HOST_NOT_ALLOWED' })
    expect(git.requests).toEqual([])
  })

  test.each([
    ['trusted', true],
    ['not trusted', false],
  ])('scripts of a repository that is %s are run: %s', async (_, isTrusted) => {
    await using git = await startGitServer()
    const files = {
      '.openhands/setup.sh': 'echo ran > set-up.txt\n',
      '.openhands/pre-commit.sh': '#!/bin/sh\necho refused by hook >&2\nexit 1\n',
    }
    await git.add('acme/shop', { files })
    await using model = await startScriptedModel({
      by: 'turn',
      answers: [run('cat set-up.txt; git commit --allow-empty -qm x && echo committed'), finish],
    })
    await using dir = await tempDir()
    const trusted: Record<string, string> = isTrusted ? { PARLEY_TRUSTED_REPOSITORIES: `${git.host}/acme/*` } : {}
    await using ann = await serveAnn(dir.file('data'), { git, model }, trusted)
    const body = { repository: 'acme/shop', git_provider: 'gitlab', initial_user_msg: 'go' }
    const { conversation_id: id } = await ann.begin(body)
    const events = await ann.events(id)
    const [said] = outputs(events)
    const { detail } = events.find(({ value }) => value?.phase === 'setup' && value.status === 'done').value
    if (isTrusted) {
      expect(said).toMatch(/^ran\n/)
      expect(said).toContain('refused by hook')
      expect(detail).toBe('.openhands/setup.sh ran; .openhands/pre-commit.sh installed')
    } else {
      expect(said).toContain('committed')
      expect(said).not.toContain('refused by hook')
      expect(detail).toContain('is not among trusted_repositories')
    }
  })
})

describe('a start that fails', () => {
  type Fault = {
    make: (git: GitServer, ann: Ann) => unknown
    repair: (git: GitServer, ann: Ann) => unknown
    code: string
    /** Seconds that the phase may take. Only a host that never answers needs them, because a busy machine exceeds every short limit. */
    deadlines?: string
  }
  const faults: [string, Fault][] = [
    [
      'a branch that is not there',
      {
        make: () => undefined,
        repair: (git) => git.git('acme/shop', 'branch', 'wanted', 'main'),
        code: 'GIT$BRANCH_NOT_FOUND',
      },
    ],
    [
      'a credential that is refused',
      {
        make: async (git, ann) => {
          await git.git('acme/shop', 'branch', 'wanted', 'main')
          git.mode = 'private'
          git.password = TOKEN
          await storeToken(ann, 'glpat-an-old-token-of-ann')
        },
        repair: (_, ann) => storeToken(ann, TOKEN),
        code: 'GIT$AUTHENTICATION_FAILED',
      },
    ],
    [
      'a host that never answers',
      {
        make: async (git) => {
          await git.git('acme/shop', 'branch', 'wanted', 'main')
          git.mode = 'silent'
        },
        repair: (git) => (git.mode = 'open'),
        code: 'GIT$TIMEOUT',
        deadlines: '{"repository":2}',
      },
    ],
  ]

  const FAILED = 'ends in time with its code, can be read, and continues after the repair'
  for (const [name, fault] of faults)
    verifies(
      [
        'design.start.failed-readable',
        'design.start.failed-event',
        'design.start.failed-stopped',
        'design.start.again',
        'seed.conversation-status.stopped',
      ],
      `${name}: ${FAILED}`,
      async () => {
        await using git = await startGitServer()
        await git.add('acme/shop')
        await using model = await startScriptedModel({
          by: 'turn',
          answers: [run('git branch --show-current'), finish],
        })
        await using dir = await tempDir()
        await using ann = await serveAnn(
          dir.file('data'),
          { git, model },
          fault.deadlines === undefined ? {} : { PARLEY_START_DEADLINES: fault.deadlines },
        )
        await fault.make(git, ann)
        const body = {
          repository: 'acme/shop',
          git_provider: 'gitlab',
          selected_branch: 'wanted',
          initial_user_msg: 'go',
        }
        const begun = performance.now()
        const started = await ann.begin(body)
        expect(performance.now() - begun).toBeLessThan(10_000)
        const id = started.conversation_id
        expect(started.conversation_status).toBe('STOPPED')
        expect(await ann.progress(id)).toMatchObject({
          status: 'STOPPED',
          execution_status: 'error',
          phase: 'repository',
          code: fault.code,
          reason: expect.stringContaining('acme/shop'),
        })
        const failed = await ann.events(id)
        expect(failed.filter(({ kind }) => kind === 'ConversationErrorEvent')).toMatchObject([{ code: fault.code }])
        expect(phasesOf(failed).at(-1)).toBe('repository failed')
        expect(JSON.stringify(failed) + ann.stderr()).not.toContain('glpat-')
        expect(model.requests).toHaveLength(0)

        await fault.repair(git, ann)
        const startAgain = () => ann.call('POST', `/api/conversations/${id}/start`, {})
        const again = await startAgain()
        expect([again.status, again.json]).toEqual([
          200,
          { status: 'ok', conversation_id: id, message: null, conversation_status: 'STARTING' },
        ])
        const now = await ann.progressWhen(id, ({ execution_status, code }) => {
          // A clone may exceed the short limit on a busy machine.
          if (code === 'GIT$TIMEOUT') void startAgain()
          return execution_status === 'finished'
        })
        expect(now).toMatchObject({ status: 'RUNNING', code: null, selected_branch: 'wanted' })
        const events = await ann.events(id)
        expect(userTexts(events)).toEqual(['go'])
        expect(outputs(events)[0]).toContain('wanted')
        expect(phasesOf(events).filter((phase) => phase === 'workspace done')).toHaveLength(1)
      },
      60_000,
    )

  test('a start with an unknown repository, and with an unknown provider, fails with its own code', async () => {
    await using git = await startGitServer()
    await using model = await startScriptedModel({ by: 'turn', answers: [finish] })
    await using dir = await tempDir()
    await using ann = await serveAnn(dir.file('data'), { git, model })
    const codeOf = async (body: object) => (await ann.progress((await ann.begin(body)).conversation_id)).code
    expect(await codeOf({ repository: 'acme/none', git_provider: 'gitlab' })).toBe('GIT$REPOSITORY_NOT_FOUND')
    expect(await codeOf({ repository: 'acme/none', git_provider: 'enterprise_sso' })).toBe(
      'GIT$PROVIDER_NOT_CONFIGURED',
    )
  })
})

describe('other members', () => {
  let stack: AsyncDisposableStack
  let ann: Ann
  let model: ScriptedModel
  beforeAll(async () => {
    stack = new AsyncDisposableStack()
    const dir = stack.use(await tempDir())
    model = stack.use(await startScriptedModel({ respond: () => finish }))
    ann = stack.use(await serveAnn(dir.file('data'), { model }))
  })
  afterAll(() => stack.disposeAsync())

  const TASK = { repo: 'acme/shop', issue_number: 12, title: 'Prices\nare wrong' }
  const REPLAY = JSON.stringify([{ source: 'user', action: 'message', args: { content: 'hello' } }])
  const servers = [
    { name: 'a', command: 'x' },
    { name: 'a', command: 'y' },
  ]

  test.each<[string, object, string, Loose[]]>([
    ['two kinds of task', { suggested_task: TASK, create_microagent: { repo: 'a/b' } }, 'value_error', []],
    ['a branch of nothing', { selected_branch: 'main' }, 'value_error', []],
    ['a replay and a message', { replay_json: REPLAY, initial_user_msg: 'x' }, 'value_error', []],
    ['a replay and an image', { replay_json: REPLAY, image_urls: ['https://x.test/a.png'] }, 'value_error', []],
    ['a replay and a task', { replay_json: REPLAY, suggested_task: TASK }, 'value_error', []],
    ['a repository that is a file', { repository: 'file:///etc/passwd' }, 'value_error', ['repository']],
    ['a repository that is an option', { repository: '--upload-pack=x/y' }, 'value_error', ['repository']],
    ['a repository that climbs', { repository: '../../etc' }, 'value_error', ['repository']],
    ['a branch that is an option', { repository: 'a/b', selected_branch: '-f' }, 'value_error', ['selected_branch']],
    ['a branch git cannot have', { repository: 'a/b', selected_branch: 'a..b' }, 'value_error', ['selected_branch']],
    [
      'a task without its number',
      { suggested_task: { repo: 'a/b', title: 't' } },
      'missing',
      ['suggested_task', 'issue_number'],
    ],
    [
      'two servers of one name',
      { mcp_config: { stdio_servers: servers } },
      'value_error',
      ['mcp_config', 'stdio_servers'],
    ],
  ])('New Conversation with %s is refused before anything is stored', async (_, body, type, loc) => {
    const count = async () => (await ann.call('GET', '/api/conversations/count')).json
    const before = await count()
    const { status, json } = await ann.call('POST', '/api/conversations', body)
    expect([status, json.detail[0]]).toEqual([422, expect.objectContaining({ type, loc: ['body', ...loc] })])
    expect(await count()).toBe(before)
  })

  test('a repository address with a credential is refused without repeating the credential', async () => {
    const repository = 'https://ann:glpat-secret@git.example.org/a/b'
    const { status, text } = await ann.call('POST', '/api/conversations', { repository })
    expect(status).toBe(422)
    expect(text).not.toContain('glpat-secret')
  })

  test.each<[string, object, string[]]>([
    ['three members are an open issue', {}, ['issue #12', 'Pull Request', '$GITHUB_TOKEN']],
    [
      'conflicts',
      { task_type: 'MERGE_CONFLICTS', git_provider: 'gitlab' },
      ['merge conflicts of MR #12', '$GITLAB_TOKEN'],
    ],
    [
      'checks',
      { task_type: 'FAILING_CHECKS', git_provider: 'git_host_3' },
      ['PR #12', 'Bitbucket Pipelines', '30 seconds'],
    ],
    ['comments', { task_type: 'UNRESOLVED_COMMENTS' }, ['review comments of PR #12', 'same branch']],
    ['a provider that has no public name', { git_provider: 'enterprise_sso' }, ['issue #12']],
  ])('a suggested task becomes the first message, also %s', async (_, members, said) => {
    const body = { initial_user_msg: 'never said', suggested_task: { ...TASK, ...members } }
    const { conversation_id: id } = await ann.begin(body)
    const [text, ...more] = userTexts(await ann.events(id))
    expect(more).toEqual([])
    for (const words of [...said, 'acme/shop', 'Prices are wrong']) expect(text).toContain(words)
    expect(text).not.toContain('never said')
    expect(await ann.progress(id)).toMatchObject({ trigger: 'suggested_task', selected_repository: null })
  })

  test('a suggested task without a provider uses the provider of the request', async () => {
    const { conversation_id: id } = await ann.begin({ git_provider: 'gitlab', suggested_task: TASK })
    expect(userTexts(await ann.events(id))[0]).toContain('Merge Request')
  })

  test('a microagent gives the conversation its title, and its repository unless another is named', async () => {
    const create_microagent = { repo: 'acme/shop', title: 'Learn the shop', git_provider: 'enterprise_sso' }
    const filled = await ann.begin({ create_microagent })
    expect(await ann.progress(filled.conversation_id)).toMatchObject({
      title: 'Learn the shop',
      trigger: 'microagent_management',
      selected_repository: 'acme/shop',
      git_provider: 'enterprise_sso',
    })
    const named = await ann.begin({ create_microagent, repository: 'acme/other' })
    expect(await ann.progress(named.conversation_id)).toMatchObject({ selected_repository: 'acme/other' })
  })

  test('images are accepted with a message and alone', async () => {
    const image_urls = ['https://example.org/a.png', 'data:image/png;base64,iVBORw0KGgo=']
    const both = await ann.begin({ initial_user_msg: 'look', image_urls })
    expect(userTexts(await ann.events(both.conversation_id))).toEqual([`look|${image_urls.join()}`])
    const alone = await ann.begin({ image_urls })
    expect(userTexts(await ann.events(alone.conversation_id))).toEqual([image_urls.join()])
  })

  test('MCP servers are stored with the agent, and answers mask their keys', async () => {
    const mcp_config = {
      sse_servers: [{ url: 'https://tools.example.org/sse', api_key: 'key-of-tools' }],
      shttp_servers: ['https://more.example.org/mcp'],
      stdio_servers: [{ name: 'local', command: 'tool', args: '--fast "a b"', env: { KEY: 'key-of-local' } }],
    }
    const { conversation_id: id } = await ann.begin({ mcp_config })
    const { agent } = await ann.info(id)
    expect(Object.values<Loose>(agent.mcp_config).map(({ url, command, args }) => [url, command, args])).toEqual([
      ['https://tools.example.org/sse', null, null],
      ['https://more.example.org/mcp', null, null],
      [null, 'tool', ['--fast', 'a b']],
    ])
    expect(JSON.stringify(agent)).not.toMatch(/key-of-(tools|local)/)
  })

  test('a repeated request returns the same conversation without effect, and another body for its id is refused with 409', async () => {
    const body = { conversation_id: '0d9c3f6e-7d1a-4e58-9a44-3f0a2f1f7c11', suggested_task: TASK }
    const first = await ann.begin(body)
    const again = await ann.begin(body)
    expect(again).toEqual(first)
    expect(userTexts(await ann.events(body.conversation_id))).toHaveLength(1)
    expect(
      (await ann.call('POST', '/api/conversations', { ...body, selected_branch: null, image_urls: [] })).status,
    ).toBe(409)
  })
})

test('instructions are part of the prompt, also after a restart', async () => {
  await using model = await startScriptedModel({ respond: () => finish })
  await using dir = await tempDir()
  let id: string
  {
    await using ann = await serveAnn(dir.file('data'), { model })
    id = (await ann.begin({ conversation_instructions: 'Answer in verse.' })).conversation_id
    await ann.kill()
  }
  await using ann = await serveAnn(dir.file('data'), { model })
  const content = [{ type: 'text', text: 'go' }]
  await ann.call('POST', `/api/conversations/${id}/events`, { role: 'user', content, run: true })
  await ann.progressWhen(id, ({ execution_status }) => execution_status === 'finished')
  expect(model.requests.map(({ text }) => text).join()).toContain('Answer in verse.')
})
