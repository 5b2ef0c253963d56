import type { EventId } from '@parley/protocol'
import { expect, test } from 'vitest'
import { painter } from './paint.ts'
import type { ShownEvent } from './render.ts'
import { Transcript } from './transcript.ts'

const transcript = () => new Transcript({ paint: painter(false), width: 80, maxLines: 12 })
const content = (text: string) => [{ type: 'text', text }]
const message = (text: string, source = 'agent') =>
  ({
    kind: 'MessageEvent',
    id: '1' as EventId,
    source,
    llm_message: { role: 'assistant', content: content(text) },
  }) as unknown as ShownEvent
const action = (thought: string) =>
  ({
    kind: 'ActionEvent',
    thought: content(thought),
    action: { kind: 'TerminalAction', command: 'ls' },
    tool_name: 'terminal',
  }) as unknown as ShownEvent

test('an answer that was streamed in full is not printed again', () => {
  const at = transcript()
  const printed = [at.delta('All '), at.delta('is\nwell.'), at.event(message('All is\nwell.'))].join('')
  expect(printed).toBe('agent  All is\n       well.\n')
})

test('text that was streamed before a call is not printed again, but the call is printed', () => {
  const at = transcript()
  expect([at.delta('Looking.'), at.event(action('Looking.'))].join('')).toBe('agent  Looking.\n▸ terminal  $ ls\n')
})

test('an answer with a missed piece is printed in full', () => {
  const at = transcript()
  const printed = [at.delta('is well.'), at.event(message('All is well.'))].join('')
  expect(printed).toBe('agent  is well.\nagent  All is well.\n')
})

test('an event without lines does not break the line of a streamed answer', () => {
  const at = transcript()
  const status = { kind: 'ConversationStateUpdateEvent', key: 'stats', value: {} } as ShownEvent
  expect([at.delta('one '), at.event(status), at.delta('two')].join('')).toBe('agent  one two')
})

test('an answer without deltas is printed when its event arrives', () => {
  expect(transcript().event(message('Done.'))).toBe('agent  Done.\n')
})
