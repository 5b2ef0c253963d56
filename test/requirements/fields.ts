/** Checks that a field of a record accepts the values of its type in the interface document, and no others. */
import { expect } from 'vitest'
import type { z } from 'zod'

const uuid = '0f8fad5b-d9cb-469f-a165-70867728950e'
const when = '2026-01-02T03:04:05Z'

/** Values that each type of the document's tables accepts and refuses. */
const samples = {
  string: { good: ['text', ''], bad: [5, true, [], {}, null] },
  'string or null': { good: ['text', null], bad: [5, true, [], {}] },
  uuid: { good: [uuid], bad: ['text', 5, null] },
  'uuid or null': { good: [uuid, null], bad: ['text', 5] },
  'date-time': { good: [when], bad: ['yesterday', true, {}] },
  integer: { good: [7], bad: [1.5, 'seven', [], {}, null] },
  'integer or null': { good: [7, null], bad: [1.5, 'seven', [], {}] },
  number: { good: [7, 0.5], bad: ['half', [], {}, null] },
  'number or null': { good: [7, 0.5, null], bad: ['half', [], {}] },
  boolean: { good: [true, false], bad: ['maybe', 7, [], {}, null] },
  'boolean or null': { good: [true, false, null], bad: ['maybe', 7, [], {}] },
  strings: { good: [[], ['a', 'b']], bad: ['a', [5], {}, null] },
  uuids: { good: [[], [uuid]], bad: [uuid, ['text'], {}] },
  'map to strings': { good: [{}, { a: 'b' }], bad: ['a', { a: 5 }, ['a']] },
  object: { good: [{}, { a: { b: [1, null] } }], bad: ['a', 5, ['a']] },
} satisfies Record<string, { good: unknown[]; bad: unknown[] }>

export type FieldType = keyof typeof samples

const read = (schema: z.ZodType, value: unknown) => schema.parse(value) as Record<string, unknown>

/** `record` is valid without the field. */
export function expectTypes(schema: z.ZodType, record: object, fields: Readonly<Record<string, FieldType>>): void {
  for (const [name, type] of Object.entries(fields)) {
    for (const value of samples[type].good) {
      expect(read(schema, { ...record, [name]: value })[name], `${name}: ${JSON.stringify(value)}`).toEqual(value)
    }
    expectRefused(schema, record, name, ...samples[type].bad)
  }
}

/** Every value is refused because of the field: the record is valid without it. */
export function expectRefused(schema: z.ZodType, record: object, name: string, ...values: unknown[]): void {
  for (const value of values) {
    const { success } = schema.safeParse({ ...record, [name]: value })
    expect(success, `${name}: ${JSON.stringify(value)} should be refused`).toBe(false)
  }
}

/** `record` names none of the fields. */
export function expectDefaults(schema: z.ZodType, record: object, defaults: Readonly<Record<string, unknown>>): void {
  const parsed = read(schema, record)
  for (const [name, value] of Object.entries(defaults)) expect(parsed[name], name).toEqual(value)
}

/** `record` is valid, and invalid without any one of the fields. */
export function expectRequired(schema: z.ZodType, record: Readonly<Record<string, unknown>>, ...names: string[]): void {
  expect(schema.safeParse(record).error).toBeUndefined()
  for (const name of names) {
    const { [name]: _, ...rest } = record
    expect(schema.safeParse(rest).success, `without ${name}`).toBe(false)
  }
}
