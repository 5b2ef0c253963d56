import { expect, test } from 'vitest'
import { CONTROL_KINDS, ControlEvent, TreeEvent } from './event.ts'
import { ConversationStateUpdateEvent } from './events/telemetry.ts'
import { controlEvents, treeEvents } from './events/samples.testing.ts'
import { dropNulls, wireEvent, wireKindToStored } from './wire-event.ts'

test.each(treeEvents)('$kind is sent unchanged', (sample) => {
  const event = TreeEvent.parse(sample)
  expect(wireEvent(event)).toBe(event)
})

test.each(treeEvents.filter(({ kind }) => kind === 'ActionEvent' || kind === 'MessageEvent'))(
  'the answer as it came stays in the log, and is left out of the $kind that clients get',
  (sample) => {
    const origin = { api: 'anthropic', host: 'h', account: 'k', model: 'claude' }
    const stored = TreeEvent.parse({ ...sample, raw_answer: { origin, parts: [{ type: 'call', id: 'a' }] } })
    expect(stored).toHaveProperty('raw_answer.origin.host', 'h')
    expect(wireEvent(stored)).toEqual(TreeEvent.parse(sample))
  },
)

test('what follows a summary in the view stays in the log, and is left out of the condensation that clients get', () => {
  const sample = treeEvents.find(({ kind }) => kind === 'Condensation')!
  const stored = TreeEvent.parse({ ...sample, given_back: { tasks: 't', files: [{ path: '/a', text: null }] } })
  expect(stored).toHaveProperty('given_back.tasks', 't')
  expect(wireEvent(stored)).toEqual(TreeEvent.parse(sample))
})

test.each(controlEvents)('$kind becomes one state update with the same id and time', (sample) => {
  const event = ControlEvent.parse(sample)
  const wire = wireEvent(event)
  expect(ConversationStateUpdateEvent.parse(wire)).toEqual(wire)
  expect(wire).toMatchObject({ id: event.id, timestamp: event.timestamp, parent_id: null, source: 'environment' })
})

const metrics = {
  model_name: 'm',
  accumulated_cost: 0.5,
  max_budget_per_task: null,
  accumulated_token_usage: null,
}
test.each<[kind: string, key: string, value: unknown]>([
  ['StatusChangedEvent', 'execution_status', 'running'],
  ['LeafMovedEvent', 'leaf_event_id', null],
  ['ConfirmationRequestedEvent', 'confirmation_request', expect.objectContaining({ llm_response_id: 'r1' })],
  ['ApprovalEvent', 'approval', expect.objectContaining({ decision: 'accept', actor: 'k1' })],
  ['UsageRecordedEvent', 'stats', { usage_to_metrics: { default: metrics } }],
  [
    'ModelRetryEvent',
    'model_retry',
    { usage_id: 'agent', model: 'm', attempt: 1, wait_seconds: 2.5, code: 'LLMRateLimitError', detail: 'd' },
  ],
  ['StartPhaseEvent', 'start_phase', { phase: 'workspace', status: 'failed', code: 'c', detail: null }],
  ['StateChangedEvent', 'tags', { a: 'b' }],
])('the event %s becomes an update of the key %s', (kind, key, value) => {
  const sample = controlEvents.find((event) => event.kind === kind)
  expect(wireEvent(ControlEvent.parse(sample))).toMatchObject({ key, value })
})

test.each([{}, { parent_id: null }])(
  'an event of an unknown kind with %o is sent under a key that clients ignore, never as an unknown kind',
  (place) => {
    const future = { kind: 'FutureEvent', id: 'e1', timestamp: '2026-01-01T00:00:00.000000' }
    expect(wireEvent({ ...future, ...place })).toMatchObject({
      kind: 'ConversationStateUpdateEvent',
      id: 'e1',
      key: 'unknown_event',
      value: { ...future, ...place },
    })
  },
)

test('a state update of another server is sent unchanged', () => {
  const update = {
    kind: 'ConversationStateUpdateEvent',
    id: 'e1',
    timestamp: 't',
    key: 'execution_status',
    value: 'paused',
  }
  expect(wireEvent(update)).toBe(update)
})

test.each<[filter: string, kinds: readonly string[]]>([
  ['MessageEvent', ['MessageEvent']],
  ['openhands.sdk.event.llm_convertible.message.MessageEvent', ['MessageEvent']],
  ['openhands.sdk.event.llm_convertible.observation.AgentErrorEvent', ['AgentErrorEvent']],
  ['openhands.sdk.event.condenser.Condensation', ['Condensation']],
  [
    'openhands.sdk.event.conversation_state.ConversationStateUpdateEvent',
    [...CONTROL_KINDS, 'ConversationStateUpdateEvent'],
  ],
  ['StatusChangedEvent', ['StatusChangedEvent']],
  ['openhands.sdk.event.streaming_delta.StreamingDeltaEvent', []],
  ['Nonsense', []],
  ['', []],
])('the kind filter %j selects the stored kinds %j', (filter, kinds) => {
  expect(wireKindToStored(filter)).toEqual(kinds)
})

test('nulls are dropped at every depth of modelled fields', () => {
  const event = TreeEvent.parse(treeEvents.find(({ kind }) => kind === 'ObservationEvent'))
  expect(dropNulls(event)).toEqual({
    kind: 'ObservationEvent',
    id: event.id,
    timestamp: event.timestamp,
    source: 'environment',
    tool_name: 'terminal',
    tool_call_id: 'call_1',
    action_id: event.id,
    extended_content: [],
    observation: {
      kind: 'TerminalObservation',
      content: [{ type: 'text', text: 'hello', cache_prompt: false }],
      is_error: false,
      command: 'ls',
      timeout: false,
      metadata: { exit_code: -1, pid: -1, prefix: '', suffix: '' },
    },
  })
})

test('nulls in free-form members are data', () => {
  const hook = TreeEvent.parse(treeEvents.find(({ kind }) => kind === 'HookExecutionEvent'))
  expect(dropNulls(hook)).toMatchObject({ hook_input: { tool_input: null } })
  const acp = TreeEvent.parse(treeEvents.find(({ kind }) => kind === 'ACPToolCallEvent'))
  const dropped = dropNulls(acp)
  expect(dropped).toMatchObject({ raw_input: { a: null }, content: [{ b: null }] })
  expect(dropped).not.toHaveProperty('raw_output')
  const call = { kind: 'ActionEvent', action: { kind: 'ClientAction_x', where: null }, summary: null }
  expect(dropNulls(call)).toEqual({ kind: 'ActionEvent', action: { kind: 'ClientAction_x', where: null } })
})

test('the value of a state update is sent even when it is null', () => {
  const moved = wireEvent(ControlEvent.parse(controlEvents.find(({ kind }) => kind === 'LeafMovedEvent')))
  expect(dropNulls(moved)).toHaveProperty('value', null)
  expect(dropNulls(moved)).not.toHaveProperty('parent_id')
})

test('members that clients require stay, null or not', () => {
  const observation = { kind: 'TerminalObservation', command: null, exit_code: null }
  expect(dropNulls({ kind: 'ObservationEvent', observation })).toEqual({
    kind: 'ObservationEvent',
    observation: { kind: 'TerminalObservation', command: null },
  })
  expect(dropNulls({ critic_result: { score: 1, message: null, metadata: null } })).toEqual({
    critic_result: { score: 1, message: null },
  })
})

test('dropping nulls does not change the original event', () => {
  const event = TreeEvent.parse(treeEvents[0])
  const before = structuredClone(event)
  dropNulls(event)
  expect(event).toEqual(before)
})
