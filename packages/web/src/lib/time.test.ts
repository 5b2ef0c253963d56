import { expect, test } from 'vitest'
import { age, byDay, dayOf, utcTime } from './time.ts'

const at = (text: string): number => new Date(text).getTime()
const NOW = at('2026-11-24T09:30:00')

test.each([
  ['now', '2026-11-24T09:29:01'],
  ['1 min', '2026-11-24T09:29:00'],
  ['59 min', '2026-11-24T08:31:00'],
  ['23 h', '2026-11-23T10:00:00'],
  ['6 d', '2026-11-18T09:00:00'],
  ['Nov 1', '2026-11-01T09:00:00'],
  ['Dec 31, 2025', '2025-12-31T09:00:00'],
])('an age is written as %s for %s', (text, time) => {
  expect(age(at(time), NOW)).toBe(text)
})

test.each([
  ['Today', '2026-11-24T00:00:00'],
  ['Today', '2026-11-25T00:10:00'],
  ['Yesterday', '2026-11-23T23:59:59'],
  ['Sunday', '2026-11-22T12:00:00'],
  ['Wednesday', '2026-11-18T12:00:00'],
  ['Nov 17', '2026-11-17T12:00:00'],
  ['Nov 17, 2025', '2025-11-17T12:00:00'],
])('a day is named %s for %s', (name, time) => {
  expect(dayOf(at(time), NOW)).toBe(name)
})

test('a time of the server is UTC, with or without an offset', () => {
  const time = Date.UTC(2026, 10, 24, 9, 30)
  for (const text of [
    '2026-11-24T09:30:00',
    '2026-11-24T09:30:00.000000',
    '2026-11-24T09:30:00Z',
    '2026-11-24T10:30:00+01:00',
  ])
    expect([text, utcTime(text)]).toEqual([text, time])
})

test('items are grouped by day in their order', () => {
  const times = ['2026-11-24T08:00', '2026-11-24T07:00', '2026-11-23T08:00'].map(at)
  const groups = byDay(times, (time) => time, NOW)
  expect(groups).toEqual([
    { day: 'Today', items: times.slice(0, 2) },
    { day: 'Yesterday', items: times.slice(2) },
  ])
})
