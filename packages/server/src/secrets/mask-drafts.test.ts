import { newEventId, readEvent, type Draft } from '@parley/protocol'
import { expect, test } from 'vitest'
import { makeMasker } from './mask.ts'
import { maskDrafts } from './mask-drafts.ts'

const said = (text: string): Draft =>
  ({
    kind: 'MessageEvent',
    source: 'agent',
    llm_message: { role: 'assistant', content: [{ type: 'text', text, cache_prompt: false }] },
  }) as never

const called = (data: Record<string, unknown>): Draft =>
  ({
    kind: 'ActionEvent',
    source: 'agent',
    tool_name: 'remote_tool',
    tool_call_id: 'call-1',
    tool_call: { id: 'call-1', name: 'remote_tool', arguments: JSON.stringify(data), origin: 'completion' },
    action: { kind: 'MCPToolAction', data },
    llm_response_id: 'r-1',
    security_risk: 'LOW',
    thought: [],
  }) as never

const SECRET = 'pa"ss\nword-0815'

test.each<[string, Draft]>([
  ['a message', said(`it is ${SECRET} here`)],
  ['an argument, and the text it came as', called({ list: [{ deep: SECRET }] })],
  ['an argument that is called like a structural member', called({ name: SECRET, id: SECRET, kind: SECRET })],
  ['a word that an action is about', { ...called({}), action: { kind: 'InvokeSkillAction', name: SECRET } } as never],
  [
    'an observation with a member that is called like a structural one',
    {
      kind: 'ObservationEvent',
      source: 'environment',
      observation: { kind: 'TaskObservation', status: SECRET },
    } as never,
  ],
  [
    'an error',
    { kind: 'AgentErrorEvent', source: 'agent', tool_name: 't', tool_call_id: 'c', error: `bad ${SECRET}` } as never,
  ],
])('%s is masked', (_, draft) => {
  const text = JSON.stringify(maskDrafts([draft], makeMasker([SECRET])))
  expect(text).not.toMatch(/pa|0815/)
  expect(text).toContain('<secret-hidden>')
})

test('masking of drafts leaves structural members unchanged even when a secret equals their value', () => {
  const words = [
    'agent',
    'remote_tool',
    'call-1',
    'ActionEvent',
    'MessageEvent',
    'MCPToolAction',
    'assistant',
    'text',
    'r-1x',
  ]
  for (const draft of [said('the agent spoke'), called({ x: 'remote_tool' })]) {
    const [masked] = maskDrafts([draft], makeMasker(words))
    const id = newEventId()
    const event = readEvent({ ...masked, id, timestamp: '2026-01-01T00:00:00.000000', parent_id: null })
    expect(event).toMatchObject({ kind: draft.kind, source: 'agent' })
    expect(JSON.stringify(masked)).toContain('<secret-hidden>')
  }
})

test('masking of drafts keeps their form, lists included', () => {
  expect(maskDrafts([said(`it is ${SECRET} here`)], makeMasker([SECRET]))).toEqual([said('it is <secret-hidden> here')])
})

test('masking of drafts without secrets returns the same drafts', () => {
  const drafts = [said('x')]
  expect(maskDrafts(drafts, makeMasker([]))).toBe(drafts)
})
