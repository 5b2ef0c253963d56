import type { ShownEvent } from './render.ts'
import { expect, test } from 'vitest'
import { Turn } from './turn.ts'

const message = { kind: 'MessageEvent', source: 'user' } as ShownEvent
const status = (value: string) =>
  ({ kind: 'ConversationStateUpdateEvent', key: 'execution_status', value }) as ShownEvent

/** Whether the turn is over after each step. */
function steps(turn: Turn, ...seen: ShownEvent[]): boolean[] {
  return seen.map((event) => {
    turn.see(event)
    return turn.isOver
  })
}

test('a turn lasts from the question to the end of the run that follows it', () => {
  const turn = new Turn('idle')
  expect(turn.isOver).toBe(true)
  turn.asked()
  expect(turn.isOver).toBe(false)
  expect(steps(turn, message, status('running'), status('finished'))).toEqual([false, false, true])
})

test('the end of an earlier run does not end a turn whose message comes after it', () => {
  const turn = new Turn('running')
  turn.asked()
  expect(steps(turn, status('finished'), message, status('idle'), status('running'), status('finished'))).toEqual([
    false,
    false,
    false,
    false,
    true,
  ])
})

test('a message that a run takes up ends with that run', () => {
  const turn = new Turn('running')
  turn.asked()
  expect(steps(turn, message, status('finished'))).toEqual([false, true])
})

test('a message that was refused is not waited for', () => {
  const turn = new Turn('idle')
  turn.asked()
  turn.refused()
  expect(turn.isOver).toBe(true)
})

test('a message that a hook blocked is not waited for', () => {
  const turn = new Turn('idle')
  turn.asked()
  const blocked = { kind: 'ConversationStateUpdateEvent', key: 'blocked_messages', value: { x: 'no' } } as ShownEvent
  expect(steps(turn, message, blocked)).toEqual([false, true])
})

test('waiting for a decision ends a turn, and the decision begins one', () => {
  const turn = new Turn('running')
  turn.see(status('waiting_for_confirmation'))
  expect(turn.isOver).toBe(true)
  turn.resumed()
  expect(steps(turn, status('waiting_for_confirmation'), status('running'), status('finished'))).toEqual([
    false,
    false,
    true,
  ])
})

test('a run that cannot begin is an end as well', () => {
  const turn = new Turn('idle')
  turn.asked()
  expect(steps(turn, message, status('error'))).toEqual([false, true])
})
