import { expect, test } from 'vitest'
import type { TreeEvent } from '@parley/protocol'
import { transcript } from './transcript.ts'

const message = (text: string, source = 'user'): TreeEvent =>
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

test('the transcript of no events is empty', () => {
  expect(transcript([])).toBe('')
})

test('a transcript has the last state of each call between two messages, and equal ids of two turns are two calls', () => {
  const text = transcript([
    message('do'),
    call('a', 'pending', { raw_input: 'ls' }),
    call('a', 'completed', { raw_input: 'ls', raw_output: 'files' }),
    call('silent', 'completed'),
    finished('did'),
    message('more'),
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

test('a transcript that is too long keeps its newest part, its head and its foot', () => {
  const long = Array.from({ length: 40 }, (_, n) => message(`${n} ${'x'.repeat(3000)}`))
  const text = transcript(long)
  expect(text.length).toBeLessThanOrEqual(60_000)
  expect(text.startsWith('<<RESUMED CONVERSATION>>\n')).toBe(true)
  expect(text).toContain('User: 39 ')
  expect(text).not.toContain('User: 0 ')
  expect(transcript(long, 50)).toBe('')
})

test('a transcript does not contain an earlier transcript', () => {
  expect(transcript([message('<<RESUMED CONVERSATION>> again')])).toBe('')
})
