import { expect, test } from 'vitest'
import type { TreeEvent } from '@parley/protocol'
import { transcript } from './transcript.ts'

const said = (text: string, source = 'user'): TreeEvent =>
  ({ kind: 'MessageEvent', source, llm_message: { content: [{ type: 'text', text }] } }) as unknown as TreeEvent
const finished = (message: string): TreeEvent =>
  ({ kind: 'ActionEvent', action: { kind: 'FinishAction', message } }) as unknown as TreeEvent
const call = (tool_call_id: string, status: string, members: object = {}): TreeEvent =>
  ({
    kind: 'ACPToolCallEvent',
    tool_call_id,
    title: tool_call_id,
    status,
    raw_input: null,
    raw_output: null,
    content: null,
    is_error: false,
    ...members,
  }) as unknown as TreeEvent

test('nothing was said: nothing', () => {
  expect(transcript([])).toBe('')
})

test('the last word about each call between two messages; a call of another turn with the same id is another call', () => {
  const text = transcript([
    said('do'),
    call('a', 'pending', { raw_input: 'ls' }),
    call('a', 'completed', { raw_input: 'ls', raw_output: 'files' }),
    call('silent', 'completed'),
    finished('did'),
    said('more'),
    call('a', 'failed', { raw_input: 'rm', is_error: true }),
  ])
  expect(text.split('\n\n').slice(2, -1)).toEqual([
    'User: do',
    'Tool call: a (completed)\ninput: ls\noutput: files',
    'Assistant: did',
    'User: more',
    'Tool call: a (failed)\ninput: rm',
  ])
})

test('the newest part stays where not all of it fits; head and foot always do', () => {
  const long = Array.from({ length: 40 }, (_, n) => said(`${n} ${'x'.repeat(3000)}`))
  const text = transcript(long)
  expect(text.length).toBeLessThanOrEqual(60_000)
  expect(text.startsWith('<<RESUMED CONVERSATION>>\n')).toBe(true)
  expect(text).toContain('User: 39 ')
  expect(text).not.toContain('User: 0 ')
  expect(transcript(long, 50)).toBe('')
})

test('a transcript is not told inside another one', () => {
  expect(transcript([said('<<RESUMED CONVERSATION>> again')])).toBe('')
})
