import { expect, test } from 'vitest'
import type { z } from 'zod'
import { laxDateTime, laxEventTime, laxUuid, nonBlank, secretText, text } from './lax-text.ts'

const message = (schema: z.ZodType, value: unknown) => schema.safeParse(value).error?.issues[0]?.message
const id = '6f9619ff-8b86-d011-b42d-00c04fc964ff'

test.each([id, id.toUpperCase(), id.replaceAll('-', ''), `{${id}}`, `urn:uuid:${id}`])(
  '%s is accepted as a UUID',
  (value) => {
    expect(laxUuid().parse(value)).toBe(id)
  },
)

// Source: conversation-service.md 7.3.
test.each([
  ['x', 'invalid character: found `x` at 1'],
  ['', 'invalid length: expected length 32 for simple format, found 0'],
  [id.slice(0, -2), 'invalid group length in group 4: expected 12, found 10'],
  [id.replace('-', ''), 'invalid group count: expected 5, found 4'],
])('%j is refused as a UUID', (value, error) => {
  const issue = laxUuid().safeParse(value).error?.issues[0]
  const expected = {
    message: `Input should be a valid UUID, ${error}`,
    params: { type: 'uuid_parsing', ctx: { error } },
  }
  expect(issue).toMatchObject(expected)
})

test('a number is refused as a UUID', () => {
  expect(message(laxUuid(), 5)).toBe('UUID input should be a string, bytes or UUID object')
})

test.each([
  ['2026-02-03', '2026-02-03T00:00:00'],
  ['2026-02-03T10:00', '2026-02-03T10:00:00'],
  ['2026-02-03 10:00:00', '2026-02-03T10:00:00'],
  ['2026-02-03t10:00:00.5z', '2026-02-03T10:00:00.500000Z'],
  ['2026-02-03T10:00:00.123456789', '2026-02-03T10:00:00.123456'],
  ['2026-02-03T10:00:00+02:00', '2026-02-03T08:00:00Z'],
  ['2026-02-03T00:30:00-0130', '2026-02-03T02:00:00Z'],
  [1_770_112_800, '2026-02-03T10:00:00.000Z'],
  ['1770112800000', '2026-02-03T10:00:00.000Z'],
])('%j is parsed as the date-time %s', (value, read) => {
  expect(laxDateTime().parse(value)).toBe(read)
})

test.each([
  ['', 'input is too short'],
  ['10:00:00', 'input is too short'],
  ['2026-2-3', 'input is too short'],
  ['not-a-date-at-all', 'invalid character in year'],
  ['2026-13-01', 'month value is outside expected range of 1-12'],
  ['2026-02-30', 'day value is outside expected range'],
  ['2026-02-03T25:00:00', 'unexpected extra characters at the end of the input'],
  ['2026-02-03T10:00:00+25:00', 'unexpected extra characters at the end of the input'],
  ['2026-02-03T10:00:00Zjunk', 'unexpected extra characters at the end of the input'],
])('%j is refused as a date-time', (value, error) => {
  expect(message(laxDateTime(), value)).toBe(`Input should be a valid datetime or date, ${error}`)
})

test.each([true, [], {}, null])('%j has no form of a date-time and is refused', (value) => {
  expect(message(laxDateTime(), value)).toBe('Input should be a valid datetime')
})

test('a filter time compares with event timestamps as text', () => {
  expect(laxEventTime().parse('2026-02-03T10:00:00+02:00')).toBe('2026-02-03T08:00:00.000000')
  expect(laxEventTime().parse('2026-02-03T10:00:00.25')).toBe('2026-02-03T10:00:00.250000')
})

test('text lengths count code points', () => {
  expect(text({ max: 2 }).parse('🎉🎉')).toBe('🎉🎉')
  expect(message(text({ max: 2 }), '🎉🎉🎉')).toBe('String should have at most 2 characters')
  expect(message(text({ min: 1 }), '')).toBe('String should have at least 1 character')
})

test('a blank name is a value error', () => {
  expect(nonBlank().safeParse('  ').error?.issues[0]).toMatchObject({
    params: { type: 'value_error', ctx: { error: {} } },
  })
  expect(nonBlank().parse(' a ')).toBe(' a ')
})

test.each([undefined, null, '', '  ', '**********'])('%j is refused as a secret', (value) => {
  expect(secretText().parse(value)).toBeNull()
})
