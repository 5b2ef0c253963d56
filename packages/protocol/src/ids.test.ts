import { expect, test } from 'vitest'
import { eventTimestamp, hexId, newConversationId, newEventId, parseConversationId } from './ids.ts'

test('event ids of one process sort in the order of creation, also within one millisecond', () => {
  const ids = Array.from({ length: 20_000 }, () => newEventId())
  expect(ids.toSorted()).toEqual(ids)
  expect(new Set(ids).size).toBe(ids.length)
})

test('an event id is a dashed lower-case UUIDv7 of the current time', () => {
  const before = Date.now()
  const id = newEventId()
  expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  const ms = Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)
  expect(ms).toBeGreaterThanOrEqual(before)
  expect(ms).toBeLessThan(before + 60_000)
})

test('a conversation id is a UUIDv4', () => {
  expect(newConversationId()).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
})

const canonical = '6f9619ff-8b86-4011-b42d-00c04fc964ff'
test.each([
  [canonical, canonical],
  [canonical.toUpperCase(), canonical],
  ['6f9619ff8b864011b42d00c04fc964ff', canonical],
  ['6F9619FF8B864011B42D00C04FC964FF', canonical],
  ['6f9619ff-8b86-4011-b42d-00c04fc964f', null],
  ['6f9619ff-8b864011-b42d-00c04fc964ff', null],
  [`${canonical} `, null],
  ['', null],
  ['xx', null],
])('the conversation id %j is parsed as %j', (text, id) => {
  expect(parseConversationId(text)).toBe(id)
})

test('the hex spelling of a conversation id is parsed as the same id', () => {
  const id = newConversationId()
  expect(hexId(id)).toMatch(/^[0-9a-f]{32}$/)
  expect(parseConversationId(hexId(id))).toBe(id)
})

test('an event timestamp is UTC with microseconds and no offset', () => {
  expect(eventTimestamp(new Date('2026-08-22T12:15:30.123+02:00'))).toBe('2026-08-22T10:15:30.123000')
})
