import { Agent, type ConversationState, type SecurityAnalyzer, type SecurityRisk } from '@parley/protocol'
import { readFile, writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import type { ModelRequest, ScriptedAnswer } from '../../../testing/scripted-model.ts'
import type { AnalyzedCall } from '../../security/index.ts'
import { openTestAgent } from './native-agent.testing.ts'
import { never, texts } from './step-driver.testing.ts'
import { resolveTools } from './native-agent.ts'
import { staticPrompt } from '../prompts/system-prompt.ts'

const PREDICTED = { kind: 'LLMSecurityAnalyzer' } as const
const finish = (message = 'done') => ({ name: 'finish', arguments: { message } })
const thought = (text: string) => ({ name: 'think', arguments: { thought: text } })
const create = (path: string, id?: string) => ({
  name: 'file_editor',
  arguments: { command: 'create', path, file_text: 'x' },
  ...(id === undefined ? {} : { id }),
})

test('one answer is one commit: usage first, then the actions, with the thought on the first only', async () => {
  await using at = await openTestAgent([
    { text: 'Both.', toolCalls: [thought('a'), thought('b')], usage: { input: 7, output: 3 } },
  ])
  const seq = at.driver.state.seq
  await at.think()
  expect(at.driver.commits.at(-1)).toEqual(['UsageRecordedEvent', 'ActionEvent', 'ActionEvent'])
  const [first, second] = at.driver.of('ActionEvent')
  expect(first).toMatchObject({ thought: [{ text: 'Both.' }], tool_name: 'think', summary: 'think: {"thought":"a"}' })
  expect(second).toMatchObject({ thought: [], llm_response_id: first!.llm_response_id })
  expect(at.driver.of('UsageRecordedEvent')[0]).toMatchObject({
    usage_id: 'agent',
    response_id: first!.llm_response_id,
    tokens: { prompt_tokens: 7, completion_tokens: 3, response_id: first!.llm_response_id },
    seen_seq: seq,
  })
  expect(at.driver.deltas.map(({ content }) => content ?? '').join('')).toBe('Both.')
})

test('results go back to the model after their calls, and finish ends the run', async () => {
  await using at = await openTestAgent([
    { toolCalls: [thought('a'), thought('b')] },
    { toolCalls: [finish('all done')] },
  ])
  await at.think()
  await at.execute()
  await at.think()
  await at.execute()
  expect(texts(at.driver.log)).toEqual(['Your thought has been logged.', 'Your thought has been logged.', 'all done'])
  expect(at.driver.of('ObservationEvent').at(-1)).toMatchObject({ observation: { kind: 'FinishObservation' } })
  expect(at.driver.state).toMatchObject({ open_actions: [], owes_step: false, iterations: 2 })
  expect(at.model.violations).toEqual([])
})

/** The first two parameters of each tool in a request. */
function offeredIn({ body }: ModelRequest): Record<string, string[]> {
  const offered = body['tools'] as { function: { name: string; parameters: { properties: object } } }[]
  return Object.fromEntries(
    offered.map(({ function: tool }) => [tool.name, Object.keys(tool.parameters.properties).slice(0, 2)]),
  )
}

test('tools are offered with the predicted fields first', async () => {
  const security_analyzer: SecurityAnalyzer = {
    kind: 'EnsembleSecurityAnalyzer',
    analyzers: [PREDICTED],
    propagate_unknown: false,
  }
  await using at = await openTestAgent([{ toolCalls: [finish()] }], { state: { security_analyzer } })
  await at.think()
  const [first] = at.model.requests
  expect(offeredIn(first!)).toMatchObject({ file_editor: ['security_risk', 'summary'], finish: ['summary', 'message'] })
  expect(first!.text).toContain('<risk>')
})

test('without an analyzer that reads it, the model is not asked for the risk of its calls', async () => {
  for (const security_analyzer of [null, { kind: 'PolicyRailSecurityAnalyzer' as const }]) {
    await using at = await openTestAgent([{ toolCalls: [finish()] }], { state: { security_analyzer } })
    await at.think()
    expect(offeredIn(at.model.requests[0]!)).toMatchObject({ file_editor: ['summary', 'command'] })
    expect(at.model.requests[0]!.text).not.toMatch(/security_risk|<risk>/)
  }
})

test('an analyzer that is set later gets the prediction of the next call', async () => {
  const analyze = (_: unknown, { predicted_risk }: AnalyzedCall) =>
    Promise.resolve({ risk: predicted_risk, costs: [], reasons: [] })
  const arguments_ = { command: 'view', path: '/', security_risk: 'MEDIUM' }
  const answer = { toolCalls: [{ name: 'file_editor', arguments: arguments_ }] }
  await using at = await openTestAgent([answer, answer], { deps: { analyze } })
  await at.think()
  await at.execute()
  at.driver.commit([{ kind: 'StateChangedEvent', source: 'user', key: 'security_analyzer', value: PREDICTED }])
  await at.think()
  expect(at.model.requests.map((request) => offeredIn(request)['file_editor']?.[0])).toEqual([
    'summary',
    'security_risk',
  ])
  expect(at.driver.of('ActionEvent').map(({ security_risk }) => security_risk)).toEqual(['UNKNOWN', 'MEDIUM'])
})

test('where summaries are off, calls have a summary that is made from their arguments', async () => {
  await using at = await openTestAgent([{ toolCalls: [thought('hm')] }], { deps: { callSummaries: false } })
  await at.think()
  expect(offeredIn(at.model.requests[0]!)).toMatchObject({ think: ['thought'], finish: ['message'] })
  expect(at.driver.of('ActionEvent')[0]!.summary).toBe('think: {"thought":"hm"}')
})

test('invalid calls get an error in the commit of the valid ones', async () => {
  await using at = await openTestAgent([
    { toolCalls: [{ name: 'fly', arguments: {} }, thought('fine'), { name: 'think', arguments: '{"thought": ' }] },
    { text: 'ok' },
  ])
  await at.think()
  expect(at.driver.commits.at(-1)).toEqual([
    'UsageRecordedEvent',
    'ActionEvent',
    'ActionEvent',
    'AgentErrorEvent',
    'ActionEvent',
    'AgentErrorEvent',
  ])
  expect(at.driver.of('AgentErrorEvent').map(({ classification }) => classification?.kind)).toEqual([
    'agent_action',
    'agent_action',
  ])
  expect(at.driver.open().map(({ action }) => action?.kind)).toEqual(['ThinkAction'])
  await at.execute()
  await at.think()
  expect(at.model.violations).toEqual([])
  expect(at.model.requests).toHaveLength(2)
})

test('calls after finish are closed as discarded in the same commit', async () => {
  await using at = await openTestAgent([{ toolCalls: [thought('a'), finish(), create('/tmp/never')] }])
  await at.think()
  expect(at.driver.open().map(({ tool_name }) => tool_name)).toEqual(['think', 'finish'])
  expect(texts(at.driver.log)).toEqual([expect.stringContaining('discarded because finish was called')])
})

test('missing and repeated call ids are replaced', async () => {
  await using at = await openTestAgent([
    {
      toolCalls: [
        { ...thought('a'), id: 'same' },
        { ...thought('b'), id: 'same' },
      ],
    },
  ])
  await at.think()
  const called = at.driver.of('ActionEvent').map(({ tool_call_id }) => tool_call_id)
  expect(called[0]).toBe('same')
  expect(new Set(called).size).toBe(2)
})

test('a text ends the turn, and after an empty answer the model is asked again', async () => {
  await using at = await openTestAgent([{ text: '', reasoning: 'hm' }, { text: 'Hello.' }])
  await at.think()
  expect(at.driver.of('MessageEvent').map(({ source }) => source)).toEqual(['user', 'agent', 'environment'])
  expect(at.driver.state.owes_step).toBe(true)
  await at.think()
  expect(at.driver.of('MessageEvent').at(-1)).toMatchObject({
    source: 'agent',
    llm_message: { content: [{ text: 'Hello.' }] },
  })
  expect(at.driver.state.owes_step).toBe(false)
})

test('a failing model fails the step without a commit', async () => {
  await using at = await openTestAgent([{ status: 401, error: 'bad key' }])
  await expect(at.think()).rejects.toMatchObject({ name: 'LlmError', code: 'LLMAuthenticationError' })
  expect(at.driver.commits).toHaveLength(2)
})

test('after a refusal for content the model is asked again, three times at most', async () => {
  const refusal = {
    status: 400,
    error: { error: { message: 'blocked', code: 'content_policy_violation', type: 'invalid_request_error' } },
  }
  await using at = await openTestAgent([refusal, refusal, refusal, refusal])
  for (let n = 0; n < 3; n++) await at.think()
  expect(at.driver.of('MessageEvent').map(({ source }) => source)).toEqual([
    'user',
    'environment',
    'environment',
    'environment',
  ])
  await expect(at.think()).rejects.toMatchObject({ code: 'LLMContentPolicyViolationError' })
})

test.each<[string, SecurityRisk | Error, object, { name: string; arguments: object }[], boolean]>([
  [
    'a risky call waits for a confirmation',
    'HIGH',
    { kind: 'ConfirmRisky', threshold: 'HIGH', confirm_unknown: false },
    [create('/x')],
    true,
  ],
  [
    'a harmless call does not wait for a confirmation',
    'LOW',
    { kind: 'ConfirmRisky', threshold: 'HIGH', confirm_unknown: false },
    [create('/x')],
    false,
  ],
  [
    'a call whose analyzer fails counts as HIGH',
    new Error('down'),
    { kind: 'ConfirmRisky', threshold: 'HIGH', confirm_unknown: false },
    [create('/x')],
    true,
  ],
  ['a lone finish never waits for a confirmation', 'HIGH', { kind: 'AlwaysConfirm' }, [finish()], false],
  ['a lone think never waits for a confirmation', 'HIGH', { kind: 'AlwaysConfirm' }, [thought('x')], false],
  [
    'think and finish together wait for a confirmation',
    'HIGH',
    { kind: 'AlwaysConfirm' },
    [thought('x'), finish()],
    true,
  ],
])('%s', async (_name, risk, policy, toolCalls, waits) => {
  await using at = await openTestAgent([{ toolCalls: toolCalls as NonNullable<ScriptedAnswer['toolCalls']> }], {
    state: {
      confirmation_policy: policy as ConversationState['confirmation_policy'],
      security_analyzer: { kind: 'LLMSecurityAnalyzer' },
    },
    deps: {
      analyze: () => (risk instanceof Error ? Promise.reject(risk) : Promise.resolve({ risk, costs: [], reasons: [] })),
    },
  })
  await at.think()
  const actions = at.driver.of('ActionEvent').map(({ id, security_risk }) => ({ action_id: id, risk: security_risk }))
  expect(at.driver.state.awaiting_approval?.actions ?? null).toEqual(
    waits ? actions.map((action) => expect.objectContaining(action) as object) : null,
  )
  if (waits)
    expect(at.driver.commits.at(-1)).toEqual([
      'UsageRecordedEvent',
      ...toolCalls.map(() => 'ActionEvent'),
      'ConfirmationRequestedEvent',
    ])
})

test('a call that a hook blocks is not executed and gets the reason as its result', async () => {
  await using at = await openTestAgent([{ toolCalls: [thought('a'), thought('b')] }], {
    deps: {
      hooks: {
        before: ({ action }) =>
          Promise.resolve({ blocked: 'thought' in action && action.thought === 'a' ? 'not that' : null, drafts: [] }),
        after: () => Promise.resolve({ drafts: [] }),
      },
    },
  })
  await at.think()
  expect(Object.values(at.driver.state.blocked_actions)).toEqual(['not that'])
  await at.execute()
  expect(at.driver.of('UserRejectObservation')).toMatchObject([
    { rejection_source: 'hook', rejection_reason: 'not that' },
  ])
  expect(texts(at.driver.log)).toEqual(['not that', 'Your thought has been logged.'])
  expect(at.driver.state.blocked_actions).toEqual({})
})

test('after a crash an edit that took place is not repeated, one that did not is executed, and one in doubt is neither', async () => {
  const insert = (path: string) => ({
    name: 'file_editor',
    arguments: { command: 'insert', path, insert_line: 0, new_str: 'x' },
  })
  await using at = await openTestAgent((dir) => [
    { toolCalls: ['done', 'fresh', 'doubt'].map((name) => insert(`${dir}/${name}`)) },
  ])
  for (const name of ['done', 'fresh', 'doubt']) await writeFile(at.at(name), 'old\n')
  await at.think()
  const actions = at.driver.open()
  // The edits take place, but the server dies before their results are stored; then one is reverted and one changed by someone else.
  const lost = at.agent.execute(actions, at.driver.context, never)
  while ((await lost.next([])).done !== true);
  await writeFile(at.at('fresh'), 'old\n')
  await writeFile(at.at('doubt'), 'someone else\n')
  await at.recover()
  expect(await Promise.all(['done', 'fresh', 'doubt'].map((name) => readFile(at.at(name), 'utf8')))).toEqual([
    'x\nold\n',
    'x\nold\n',
    'someone else\n',
  ])
  expect(texts(at.driver.log)).toEqual([
    expect.stringContaining('has been edited'),
    expect.stringContaining('has been edited'),
    expect.stringContaining('service restarted while this call was running'),
  ])
  expect(at.driver.state.open_actions).toEqual([])
})

test('a command that ran while the server died is attached to with its output and never repeated', async () => {
  const command = 'echo once >> log.txt; echo said'
  await using at = await openTestAgent(
    [{ toolCalls: [{ name: 'execute_bash', arguments: { command } }] }, { text: 'ok' }],
    {
      agent: { tools: [{ name: 'terminal' }] },
    },
  )
  await at.think()
  const lost = at.agent.execute(at.driver.open(), at.driver.context, never)
  await lost.next([])
  await at.recover()
  expect(await readFile(at.at('log.txt'), 'utf8')).toBe('once\n')
  expect(at.driver.of('ObservationEvent')).toMatchObject([
    { observation: { exit_code: 0, content: [{ text: 'said' }] } },
  ])
  await at.think()
  expect(at.model.requests.at(-1)!.text).toContain('[Exit code 0]')
  await at.workspace.release()
})

test('a configuration with unknown tools is refused before anything is opened', () => {
  const llm = { model: 'scripted/x' }
  expect(() => resolveTools(Agent.parse({ llm, tools: [{ name: 'Hammer' }] }))).toThrow(
    /'Hammer' is not registered. Known tools: terminal/,
  )
  expect(() => staticPrompt(Agent.parse({ llm, system_prompt_filename: '/etc/passwd' }))).toThrow(/no built-in text/)
})
