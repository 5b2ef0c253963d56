import type { TreeEvent } from '@parley/protocol'
import { expect, test } from 'vitest'
import {
  callEvent,
  condensationEvent,
  errorEvent,
  ids,
  messageEvent,
  paused,
  prompt,
  rejectionEvent,
  requestEvent,
  resultEvent,
} from './events.testing.ts'
import { isCallResult, isConvertible, OpenCalls } from './pairing.ts'

/** Calls whose server gave both the same call id, in two answers. */
const first = callEvent('first', 'r1', { callId: 'same' })
const second = callEvent('second', 'r2', { callId: 'same' })
const other = callEvent('other', 'r2', { callId: 'another' })

test.each<[string, readonly TreeEvent[], readonly boolean[], readonly string[]]>([
  ['a call stays open until its result', [first, messageEvent('m', 'hi')], [true, true], ['first']],
  ['a result closes its call', [first, resultEvent('o', first)], [true, true], []],
  ['a rejection closes its call', [first, rejectionEvent('o', first)], [true, true], []],
  ['an error closes its call', [first, errorEvent('o', first)], [true, true], []],
  ['a result without a call is refused', [resultEvent('o', first)], [false], []],
  [
    'a second result of a call is refused',
    [first, resultEvent('o', first), errorEvent('p', first)],
    [true, true, false],
    [],
  ],
  [
    'an error closes the oldest open call with its call id (F46)',
    [first, second, errorEvent('o', second)],
    [true, true, true],
    ['second'],
  ],
  ['an error leaves calls with another call id open', [other, errorEvent('o', first)], [true, false], ['other']],
  [
    'a result closes the call that it names, also when an older open call has the same call id',
    [first, second, resultEvent('o', second)],
    [true, true, true],
    ['first'],
  ],
  [
    'a rejection closes the call that it names, also when an older open call has the same call id',
    [first, second, rejectionEvent('o', second)],
    [true, true, true],
    ['first'],
  ],
  [
    'one call is closed at a time',
    [first, other, second, errorEvent('o', first), resultEvent('p', other)],
    [true, true, true, true, true],
    ['second'],
  ],
])('%s', (_, events, taken, open) => {
  const calls = new OpenCalls()
  expect(events.map((event) => calls.take(event))).toEqual(taken)
  expect(ids(calls.all())).toEqual(open)
})

test('a condensation closes the calls that it forgets and no others', () => {
  const calls = new OpenCalls()
  for (const event of [first, second, other]) calls.take(event)
  calls.forget(new Set([first.id, other.id]))
  expect(ids(calls.all())).toEqual(['second'])
  expect(calls.take(resultEvent('o', first))).toBe(false)
  expect(calls.take(errorEvent('p', second))).toBe(true)
  expect(calls.all()).toEqual([])
})

test('the model sees prompts, messages, calls, their results and summaries, and nothing else', () => {
  const summary = { ...messageEvent('s', ''), kind: 'CondensationSummaryEvent', summary: 's' } as unknown as TreeEvent
  const seen = [prompt(), messageEvent('m', 'hi'), first, summary]
  const results = [resultEvent('o', first), errorEvent('p', first), rejectionEvent('q', first)]
  const unseen = [paused('x'), requestEvent('y'), condensationEvent('z', [], null, null)]
  expect([...seen, ...results].every(isConvertible)).toBe(true)
  expect(unseen.some(isConvertible)).toBe(false)
  expect([...seen, ...results, ...unseen].filter(isCallResult)).toEqual(results)
})
