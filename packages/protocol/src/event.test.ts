import { expect, expectTypeOf, test } from 'vitest'
import {
  CONTROL_KINDS,
  Event,
  isControlEvent,
  isTreeEvent,
  readEvent,
  TREE_KINDS,
  type ControlEvent,
  type TreeEvent,
} from './event.ts'
import { Action } from './events/action.ts'
import { Observation } from './events/observation.ts'
import { ACTIONS, controlEvents, OBSERVATIONS, treeEvents } from './events/samples.testing.ts'

test('there is a sample of every kind', () => {
  expect(treeEvents.map(({ kind }) => kind).toSorted()).toEqual(TREE_KINDS.toSorted())
  expect(controlEvents.map(({ kind }) => kind).toSorted()).toEqual(CONTROL_KINDS.toSorted())
})

test.each([...treeEvents, ...controlEvents])('$kind is unchanged after serialising and parsing it again', (event) => {
  const parsed = Event.parse(event)
  expect(Event.parse(JSON.parse(JSON.stringify(parsed)))).toEqual(parsed)
  expect(readEvent(JSON.parse(JSON.stringify(parsed)))).toEqual(parsed)
})

test.each([...treeEvents, ...controlEvents])('$kind is closed', (event) => {
  const result = Event.safeParse({ ...event, more: 1 })
  expect(result.error?.issues).toMatchObject([{ code: 'unrecognized_keys', keys: ['more'] }])
})

test.each(ACTIONS)('the action $kind is closed, and unchanged after serialising and parsing it again', (action) => {
  const parsed = Action.parse(action)
  expect(Action.parse(JSON.parse(JSON.stringify(parsed)))).toEqual(parsed)
  expect(Action.safeParse({ ...action, more: 1 }).success).toBe(false)
})

test.each(OBSERVATIONS)(
  'the observation $kind is closed, and unchanged after serialising and parsing it again',
  (observation) => {
    const parsed = Observation.parse(observation)
    expect(parsed).toMatchObject({ content: [], is_error: false })
    expect(Observation.parse(JSON.parse(JSON.stringify(parsed)))).toEqual(parsed)
    expect(Observation.safeParse({ ...observation, more: 1 }).success).toBe(false)
  },
)

test("a client's own action keeps all members that its schema allows", () => {
  const action = { kind: 'ClientAction_show_map', where: { lat: 1, lon: null } }
  expect(Action.parse(action)).toEqual(action)
})

test('an unknown kind of action is refused', () => {
  expect(Action.safeParse({ kind: 'NoAction' }).success).toBe(false)
})

test('a tree event has a parent, a control event has none', () => {
  for (const event of treeEvents) {
    expect(isTreeEvent(event)).toBe(true)
    expect(Event.parse(event)).toHaveProperty('parent_id', null)
  }
  for (const event of controlEvents) {
    expect(isControlEvent(event)).toBe(true)
    expect(Event.parse(event)).not.toHaveProperty('parent_id')
    expect(Event.safeParse({ ...event, parent_id: null }).success).toBe(false)
  }
})

test('an event of an unknown kind without a parent is kept unchanged and is neither a tree nor a control event', () => {
  const event = { kind: 'FutureEvent', id: 'e1', timestamp: '2026-01-01T00:00:00.000000', more: { a: null } }
  expect(readEvent(event)).toEqual(event)
  expect(isTreeEvent(event)).toBe(false)
  expect(isControlEvent(event)).toBe(false)
})

test('an event of an unknown kind with a parent is a tree event', () => {
  const future = { kind: 'FutureEvent', id: 'e1', timestamp: '2026-01-01T00:00:00.000000' }
  expect(isTreeEvent({ ...future, parent_id: null })).toBe(true)
  expect(isTreeEvent({ ...future, parent_id: 'e0' })).toBe(true)
  for (const kind of ['ConversationStateUpdateEvent', 'StreamingDeltaEvent', 'ServerErrorEvent'])
    expect(isTreeEvent({ ...future, kind, parent_id: null })).toBe(false)
})

test('a stored value that is no event is refused', () => {
  expect(() => readEvent({ kind: 'MessageEvent' })).toThrow()
  expect(() => readEvent(null)).toThrow()
})

test('tree events and control events have disjoint kinds in their types', () => {
  type Shared = TreeEvent['kind'] & ControlEvent['kind']
  expectTypeOf<Shared>().toBeNever()
})
