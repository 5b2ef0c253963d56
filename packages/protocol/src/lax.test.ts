import { expect, test } from 'vitest'
import type { z } from 'zod'
import { laxBoolean, laxInt, laxNumber, type IssueParams } from './lax.ts'
import { text } from './lax-text.ts'

/** Returns the value, or the type word of the only failure. */
function read(schema: z.ZodType, value: unknown): unknown {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  expect(result.error.issues).toHaveLength(1)
  const issue = result.error.issues[0] as { params?: IssueParams }
  return issue.params?.type
}

test('a long text that is no number is refused at once', () => {
  const digits = '1'.repeat(60_000)
  for (const text of [`${digits}x`, `${digits}_`, `${digits}.${digits}e`, `${'1_'.repeat(30_000)}`, `.${digits}x`])
    expect(read(laxNumber(), text)).toBe('float_parsing')
  expect(read(laxNumber(), `${'1'.repeat(65_537)}`)).toBe('float_parsing')
})

// Source: conversation-service.md 7.5. A cell of a failure has the type word.
test.each<[value: unknown, int: unknown, number: unknown, boolean: unknown]>([
  [5, 5, 5, 'bool_parsing'],
  [0, 0, 0, false],
  [1, 1, 1, true],
  [-3, -3, -3, 'bool_parsing'],
  [5.5, 'int_from_float', 5.5, 'bool_type'],
  [true, 1, 1, true],
  [false, 0, 0, false],
  ['5', 5, 5, 'bool_parsing'],
  [' 5 ', 5, 5, 'bool_parsing'],
  ['+5', 5, 5, 'bool_parsing'],
  ['007', 7, 7, 'bool_parsing'],
  ['0', 0, 0, false],
  ['1', 1, 1, true],
  [' 1', 1, 1, 'bool_parsing'],
  ['5.0', 5, 5, 'bool_parsing'],
  ['5.0000', 5, 5, 'bool_parsing'],
  ['5.5', 'int_parsing', 5.5, 'bool_parsing'],
  ['5.', 'int_parsing', 5, 'bool_parsing'],
  ['.5', 'int_parsing', 0.5, 'bool_parsing'],
  ['1e3', 'int_parsing', 1000, 'bool_parsing'],
  ['1_000', 1000, 1000, 'bool_parsing'],
  ['1__0', 'int_parsing', 'float_parsing', 'bool_parsing'],
  ['_1', 'int_parsing', 'float_parsing', 'bool_parsing'],
  ['0x10', 'int_parsing', 'float_parsing', 'bool_parsing'],
  ['１２', 'int_parsing', 'float_parsing', 'bool_parsing'],
  ['', 'int_parsing', 'float_parsing', 'bool_parsing'],
  ['inf', 'int_parsing', 'finite_number', 'bool_parsing'],
  ['nan', 'int_parsing', 'finite_number', 'bool_parsing'],
  ['-Infinity', 'int_parsing', 'finite_number', 'bool_parsing'],
  ['1e400', 'int_parsing', 'finite_number', 'bool_parsing'],
  ['many', 'int_parsing', 'float_parsing', 'bool_parsing'],
  [1e20, 'int_parsing_size', 1e20, 'bool_type'],
  ['9'.repeat(4301), 'int_parsing_size', 'finite_number', 'bool_parsing'],
  [null, 'int_type', 'float_type', 'bool_type'],
  [[], 'int_type', 'float_type', 'bool_type'],
  [{}, 'int_type', 'float_type', 'bool_type'],
  [undefined, 'missing', 'missing', 'missing'],
  [Number.NaN, 'finite_number', 'finite_number', 'bool_type'],
])('%j parsed as integer, number and boolean is %j, %j, %j', (value, int, number, boolean) => {
  expect(read(laxInt(), value)).toBe(int)
  expect(read(laxNumber(), value)).toBe(number)
  expect(read(laxBoolean(), value)).toBe(boolean)
})

test.each(['true', 't', 'yes', 'y', 'on', '1', 'TRUE', 'Yes', 'oN'])('%s is parsed as true', (word) => {
  expect(read(laxBoolean(), word)).toBe(true)
})
test.each(['false', 'f', 'no', 'n', 'off', '0', 'FALSE', 'No', 'oFf'])('%s is parsed as false', (word) => {
  expect(read(laxBoolean(), word)).toBe(false)
})
test.each(['constructor', '__proto__', 'toString'])('the member name %s is not parsed as a boolean', (word) => {
  expect(read(laxBoolean(), word)).toBe('bool_parsing')
})

test('"-0" is parsed as zero', () => {
  expect(laxInt().parse('-0') === 0).toBe(true)
  expect(Object.is(laxInt().parse('-0'), 0)).toBe(true)
})

test.each<[schema: z.ZodType, value: unknown, type: string, message: string, ctx: Record<string, unknown>]>([
  [laxInt({ gt: 0 }), 0, 'greater_than', 'Input should be greater than 0', { gt: 0 }],
  [laxInt({ ge: 1 }), '0', 'greater_than_equal', 'Input should be greater than or equal to 1', { ge: 1 }],
  [laxNumber({ lt: 10 }), 10, 'less_than', 'Input should be less than 10', { lt: 10 }],
  [laxNumber({ le: 10 }), '10.5', 'less_than_equal', 'Input should be less than or equal to 10', { le: 10 }],
])('bounds are checked after coercion: case %#', (schema, value, type, message, ctx) => {
  const issue = schema.safeParse(value).error?.issues[0]
  expect(issue).toMatchObject({ code: 'custom', message, params: { type, ctx } })
})

test.each<[schema: z.ZodType, value: unknown, message: string]>([
  [laxInt(), 5.5, 'Input should be a valid integer, got a number with a fractional part'],
  [laxInt(), 'x', 'Input should be a valid integer, unable to parse string as an integer'],
  [laxInt(), null, 'Input should be a valid integer'],
  [laxInt(), 1e20, 'Unable to parse input string as an integer, exceeded maximum size'],
  [laxNumber(), 'x', 'Input should be a valid number, unable to parse string as a number'],
  [laxNumber(), [], 'Input should be a valid number'],
  [laxNumber(), 'inf', 'Input should be a finite number'],
  [laxBoolean(), 'x', 'Input should be a valid boolean, unable to interpret input'],
  [laxBoolean(), 5.5, 'Input should be a valid boolean'],
])('failures have the exact text: case %#', (schema, value, message) => {
  expect(schema.safeParse(value).error?.issues[0]?.message).toBe(message)
})

test('schemas of equal rules are one schema, and those of different rules are not', () => {
  expect(laxBoolean()).toBe(laxBoolean())
  expect(laxInt({ ge: 1, le: 5 })).toBe(laxInt({ ge: 1, le: 5 }))
  expect(text({ max: 5, pattern: /^a/ })).toBe(text({ max: 5, pattern: /^a/ }))
  expect(laxInt({ ge: 1 })).not.toBe(laxInt({ gt: 1 }))
  expect(text({ pattern: /^a/ })).not.toBe(text({ pattern: /^a/i }))
  expect(read(laxInt({ ge: 1 }), 0)).toBe('greater_than_equal')
  expect(read(laxInt(), 0)).toBe(0)
})
