/** Hooks of type `prompt` and `agent`, which use the conversation's model and have a usage id of their own. */
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { asObject, type Json } from '../../packages/server/testing/model-formats/format.ts'
import type { ModelRequest, ScriptedAnswer } from '../../packages/server/testing/scripted-model.ts'
import { ofKind, startRunning, type Loose, type Running } from '../../packages/server/testing/restartable-server.ts'
import { runMessageAsCommand, HARMLESS } from '../../packages/server/testing/guarded-conversations.ts'

const isHook = ({ text }: ModelRequest) => text.includes('event of a conversation between people and an agent')
const allow: ScriptedAnswer = { text: '{"decision":"allow"}' }
const deny: ScriptedAnswer = { text: 'I think: {"decision":"deny","reason":"not on a Friday"}' }
const prompt = (more: object = {}) => ({ type: 'prompt', name: 'calendar', prompt: 'Nothing on a Friday.', ...more })
const list = (...hooks: object[]) => [{ matcher: '*', hooks }]

let server: Running
/** The model's answer to a hook. */
let answerHook: (request: ModelRequest) => ScriptedAnswer | Promise<ScriptedAnswer> = () => allow
let asked: ModelRequest[] = []

beforeAll(async () => {
  server = await startRunning((request) => {
    if (!isHook(request)) return runMessageAsCommand(request)
    asked.push(request)
    return answerHook(request)
  })
})
afterAll(() => server[Symbol.asyncDispose]())
beforeEach(() => {
  answerHook = () => allow
  asked = []
})

/** Starts a conversation with these hooks, sends `text`, waits for the end of the run and returns the id. */
async function play(hook_config: object, text = HARMLESS, ...statuses: string[]): Promise<string> {
  const id = await server.start({ hook_config, autotitle: false })
  await server.say(id, text)
  await server.until(id, ...(statuses.length > 0 ? statuses : ['finished']))
  return id
}
const isDone = (id: string): boolean => existsSync(join(server.work(id), 'tame'))
const looks = async (id: string): Promise<Loose[]> => ofKind(await server.events(id), 'HookExecutionEvent')
const messagesOf = ({ body }: ModelRequest): Json[] => (body['messages'] as unknown[]).map(asObject)

describe('prompt hooks', () => {
  test('a prompt hook gets its policy and the event, allows the call, and has its own usage id', async () => {
    const id = await play({ pre_tool_use: list(prompt()) })
    expect(isDone(id)).toBe(true)
    const [look] = await looks(id)
    expect(look).toMatchObject({
      hook_event_type: 'PreToolUse',
      hook_command: 'prompt-hook:calendar',
      success: true,
      blocked: false,
      exit_code: 0,
      tool_name: 'terminal',
    })
    const [system, user] = messagesOf(asked[0]!)
    expect(JSON.stringify(system)).toContain('Nothing on a Friday.')
    expect(JSON.stringify(user)).toContain('echo tame > tame')
    expect(JSON.stringify(user)).not.toContain('Nothing on a Friday.')
    expect(asked[0]!.view.tools).toEqual([])
    const { stats } = (await server.call('GET', `/api/conversations/${id}`)).body as Loose
    const bucket = stats.usage_to_metrics['prompt-hook:calendar']
    expect(bucket.accumulated_token_usage.prompt_tokens).toBeGreaterThan(0)
    expect(stats.usage_to_metrics.default.token_usages).toHaveLength(2)
  })

  test('a prompt hook denies a call, and the agent gets the reason', async () => {
    answerHook = () => deny
    const id = await play({ pre_tool_use: list(prompt({ name: null })) })
    expect(isDone(id)).toBe(false)
    const events = await server.events(id)
    expect(ofKind(events, 'UserRejectObservation')).toMatchObject([
      { rejection_source: 'hook', rejection_reason: 'not on a Friday' },
    ])
    expect((await looks(id))[0]).toMatchObject({ hook_command: 'Nothing on a Friday.', blocked: true })
    const { stats } = (await server.call('GET', `/api/conversations/${id}`)).body as Loose
    expect(stats.usage_to_metrics).toHaveProperty('prompt-hook:default')
  })

  test('a prompt hook denies a message, which the agent never sees', async () => {
    answerHook = () => deny
    const before = server.model.requests.length
    const id = await play({ user_prompt_submit: list(prompt()) })
    const { blocked_messages } = (await server.call('GET', `/api/conversations/${id}`)).body as Loose
    expect(Object.values(blocked_messages)).toEqual(['not on a Friday'])
    expect(server.model.requests.slice(before).every(isHook)).toBe(true)
  })

  test('a prompt hook denies a stop and cannot block results and session events', async () => {
    let stops = 0
    answerHook = ({ text }) => {
      if (!text.includes('Stop')) return deny
      return stops++ === 0 ? { text: '{"decision":"deny","additionalContext":"3 tests fail"}' } : allow
    }
    const hooks = list(prompt())
    const id = await play({ stop: hooks, post_tool_use: hooks, session_start: hooks, session_end: hooks })
    expect(isDone(id)).toBe(true)
    await server.call('POST', `/api/conversations/${id}/stop`)
    const seen = (await looks(id)).map(({ hook_event_type, blocked }) => [hook_event_type, blocked])
    expect(seen).toEqual([
      ['SessionStart', false],
      ['PostToolUse', false],
      ['Stop', true],
      // After the denied stop, the agent repeats its work.
      ['PostToolUse', false],
      ['Stop', false],
      ['SessionEnd', false],
    ])
    expect(JSON.stringify(await server.events(id))).toContain('[Stop hook feedback] 3 tests fail')
  })

  const failures: [string, ScriptedAnswer, RegExp][] = [
    ['nonsense', { text: 'Yes, why not?' }, /without a JSON object/],
    ['an answer without a decision', { text: '{"risk":"none"}' }, /neither "allow" nor "deny"/],
    ['nothing', { text: '' }, /could not be run|without a JSON object/],
    ['an error', { status: 400, error: 'no such model' }, /could not be run/],
    ['silence', { hang: 'headers' }, /did not end within 1 s/],
  ]
  test.each(failures)(
    'a prompt hook whose model answers with %s blocks the call by default and allows it with on_error allow',
    async (_, answer, error) => {
      answerHook = () => answer
      const open = await play({ pre_tool_use: list(prompt({ timeout: 1, on_error: 'allow' })) })
      expect(isDone(open)).toBe(true)
      expect((await looks(open))[0]).toMatchObject({ success: false, blocked: false, exit_code: -1 })
      expect((await looks(open))[0].error).toMatch(error)
      const shut = await play({ pre_tool_use: list(prompt({ timeout: 1 })) })
      expect(isDone(shut)).toBe(false)
      expect((await looks(shut))[0]).toMatchObject({ success: false, blocked: true })
    },
  )

  test('a prompt hook with a hanging model delays neither an interrupt nor another conversation', async () => {
    answerHook = () => ({ hang: 'headers' })
    const id = await server.start({ hook_config: { pre_tool_use: list(prompt({ timeout: 600 })) } })
    await server.say(id, HARMLESS)
    while (asked.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
    const other = await play({})
    expect(isDone(other)).toBe(true)
    await server.call('POST', `/api/conversations/${id}/interrupt`)
    await server.until(id, 'paused')
    expect(isDone(id)).toBe(false)
  })

  test('a secret in the output of a command is masked for a prompt hook', async () => {
    expect((await server.call('POST', '/api/secrets', { name: 'DEPLOY', value: 's3cret-of-the-deploy' })).status).toBe(
      201,
    )
    await play({ post_tool_use: list(prompt()) }, 'echo "it is $DEPLOY" && echo tame')
    expect(asked).toHaveLength(1)
    expect(asked[0]!.text).toContain('it is <secret-hidden>')
    expect(asked[0]!.text).not.toContain('s3cret-of-the-deploy')
  })

  test('a prompt hook uses the current model of the conversation', async () => {
    const id = await play({ pre_tool_use: list(prompt()) })
    const llm = { model: 'openai/another', base_url: `${server.model.url}/v1`, api_key: 'k', num_retries: 0 }
    expect((await server.call('POST', `/api/conversations/${id}/switch_llm`, { llm })).status).toBe(200)
    await server.say(id, HARMLESS)
    while (asked.length < 2) await new Promise((resolve) => setTimeout(resolve, 5))
    await server.until(id, 'finished')
    expect(asked.map(({ body }) => body['model'])).toEqual(['scripted', 'another'])
  })

  test('an event that is too long for a prompt hook is an error of the hook', async () => {
    const long = `: ${'x'.repeat(210_000)}`
    const id = await play({ pre_tool_use: list(prompt({ on_error: 'deny' })) }, long)
    expect(asked).toHaveLength(0)
    expect((await looks(id))[0]).toMatchObject({ blocked: true, error: expect.stringContaining('longer than') })
  })
})

describe('agent hooks', () => {
  const agent = (more: object = {}) => ({
    type: 'agent',
    name: 'reader',
    prompt: 'Obey RULES.',
    tools: ['file_editor'],
    ...more,
  })
  const call = (name: string, args: object): ScriptedAnswer => ({ toolCalls: [{ name, arguments: { ...args } }] })
  const rulesIn = ({ text }: ModelRequest) => `${/working_dir\\":\\"([^"\\]+)/.exec(text)![1]!}/RULES`
  const roundOf = (request: ModelRequest) => messagesOf(request).filter(({ role }) => role === 'assistant').length

  async function withRules(hook: object): Promise<string> {
    const id = await server.start({ hook_config: { pre_tool_use: list(hook) }, autotitle: false })
    await mkdir(server.work(id), { recursive: true })
    await writeFile(join(server.work(id), 'RULES'), 'never on a Friday')
    await server.say(id, HARMLESS)
    await server.until(id, 'finished')
    return id
  }

  test('an agent hook reads the project, and its last answer decides', async () => {
    answerHook = (request) =>
      roundOf(request) === 0
        ? call('file_editor', { command: 'view', path: rulesIn(request) })
        : call('finish', { message: '{"decision":"deny","reason":"RULES say no"}' })
    const id = await withRules(agent({ system_prompt: 'You are a strict reader.' }))
    expect(asked).toHaveLength(2)
    expect(JSON.stringify(messagesOf(asked[0]!)[0])).toContain('You are a strict reader.')
    expect(asked[1]!.text).toContain('never on a Friday')
    expect(isDone(id)).toBe(false)
    expect((await looks(id))[0]).toMatchObject({
      hook_command: 'agent-hook:reader',
      blocked: true,
      reason: 'RULES say no',
    })
    const { stats } = (await server.call('GET', `/api/conversations/${id}`)).body as Loose
    expect(stats.usage_to_metrics['agent-hook:reader'].token_usages).toHaveLength(2)
    // The steps of the hook are not part of the conversation.
    expect(ofKind(await server.events(id), 'ActionEvent').map(({ tool_name }) => tool_name)).toEqual(['terminal'])
    expect(server.model.violations).toEqual([])
  })

  test('an agent hook cannot change files or read outside the workspace', async () => {
    const tries = [
      call('file_editor', { command: 'create', path: 'planted', file_text: 'x' }),
      call('file_editor', { command: 'view', path: server.file('data', 'server.json') }),
      call('terminal', { command: 'touch planted' }),
      allow,
    ]
    answerHook = (request) => tries[roundOf(request)]!
    const id = await withRules(agent({ max_iterations: 9 }))
    expect(isDone(id), 'it allowed the call').toBe(true)
    expect(existsSync(join(server.work(id), 'planted'))).toBe(false)
    const answers = messagesOf(asked.at(-1)!).filter(({ role }) => role === 'tool')
    expect(answers).toHaveLength(3)
    expect(JSON.stringify(answers[0])).toContain('only the command view is allowed')
    expect(JSON.stringify(answers[1])).not.toContain('pid')
    expect(JSON.stringify(answers[2])).toContain('not found')
  })

  test('an agent hook that does not end is stopped, and on_error decides', async () => {
    answerHook = (request) => call('file_editor', { command: 'view', path: rulesIn(request) })
    const id = await withRules(agent({ max_iterations: 2, on_error: 'deny' }))
    expect(asked).toHaveLength(2)
    expect(isDone(id)).toBe(false)
    expect((await looks(id))[0]).toMatchObject({
      success: false,
      blocked: true,
      error: expect.stringContaining('2 rounds'),
    })
    const { stats } = (await server.call('GET', `/api/conversations/${id}`)).body as Loose
    expect(
      stats.usage_to_metrics['agent-hook:reader'].token_usages,
      'the cost of a stopped hook is counted',
    ).toHaveLength(2)
  })
})

test('model hooks work after a restart, after an unload and in a fork', async () => {
  await using own = await startRunning((request) => (isHook(request) ? deny : runMessageAsCommand(request)), {
    PARLEY_IDLE_UNLOAD_SECONDS: '0.05',
  })
  const id = await own.start({ hook_config: { pre_tool_use: list(prompt()) }, autotitle: false })
  const refusals = async (of: string) => ofKind(await own.events(of), 'UserRejectObservation').length
  await own.restart()
  for (let n = 1; n <= 2; n++) {
    await own.say(id, HARMLESS)
    while ((await refusals(id)) < n) await new Promise((resolve) => setTimeout(resolve, 10))
    await own.until(id, 'finished')
    // Long enough for an unload; the expectation holds without one too.
    await new Promise((resolve) => setTimeout(resolve, 150))
  }
  const { body: fork } = await own.call('POST', `/api/conversations/${id}/fork`, {})
  await own.say(fork.id, HARMLESS)
  while ((await refusals(fork.id)) < 3) await new Promise((resolve) => setTimeout(resolve, 10))
  expect(existsSync(join(own.work(id), 'tame'))).toBe(false)
})
