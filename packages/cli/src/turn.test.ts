import type { ShownEvent } from './render.ts'
import { expect, test } from 'vitest'
import { Turn } from './turn.ts'

const message = { kind: 'MessageEvent', source: 'user' } as ShownEvent
const status = (value: string) =>
  ({ kind: 'ConversationStateUpdateEvent', key: 'execution_status', value }) as ShownEvent

/** True per step when the turn is over after it. */
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

test('the end of an earlier run does not end the turn of a later message', () => {
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

test('the turn of a message during a run ends with that run', () => {
  const turn = new Turn('running')
  turn.asked()
  expect(steps(turn, message, status('finished'))).toEqual([false, true])
})

test('a refused message begins no turn', () => {
  const turn = new Turn('idle')
  turn.asked()
  turn.refused()
  expect(turn.isOver).toBe(true)
})

test('a message blocked by a hook begins no turn', () => {
  const turn = new Turn('idle')
  turn.asked()
  const blocked = { kind: 'ConversationStateUpdateEvent', key: 'blocked_messages', value: { x: 'no' } } as ShownEvent
  expect(steps(turn, message, blocked)).toEqual([false, true])
})

test('a pending approval ends a turn, and the decision begins one', () => {
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

test('a run that cannot begin ends the turn', () => {
  const turn = new Turn('idle')
  turn.asked()
  expect(steps(turn, message, status('error'))).toEqual([false, true])
})
