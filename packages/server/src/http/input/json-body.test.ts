import { describe, expect, test } from 'vitest'
import { readJsonBody } from './json-body.ts'
import { MAX_JSON_DEPTH, MAX_JSON_VALUES } from '@parley/protocol'

const read = (text: string, type: string | undefined = 'application/json') => readJsonBody(Buffer.from(text), type)

describe('a malformed body is located in code points', () => {
  test.each<[string, number, string]>([
    ['{"a":', 5, 'Expecting value'],
    ['{"a": tru}', 6, 'Expecting value'],
    ['[1,', 3, 'Expecting value'],
    ['[', 1, 'Expecting value'],
    ['   ', 3, 'Expecting value'],
    ['{a:1}', 1, 'Expecting property name enclosed in double quotes'],
    ["{'a':1}", 1, 'Expecting property name enclosed in double quotes'],
    ['{', 1, 'Expecting property name enclosed in double quotes'],
    ['{"a":1,}', 7, 'Expecting property name enclosed in double quotes'],
    ['{"a" 1}', 5, "Expecting ':' delimiter"],
    ['{"a"', 4, "Expecting ':' delimiter"],
    ['{"a":1', 6, "Expecting ',' delimiter"],
    ['{"a":1 "b":2}', 7, "Expecting ',' delimiter"],
    ['[1 2]', 3, "Expecting ',' delimiter"],
    ['{"a":1} x', 8, 'Extra data'],
    ['01', 1, 'Extra data'],
    ['1.', 1, 'Extra data'],
    ['-', 0, 'Expecting value'],
    ['"', 0, 'Unterminated string starting at'],
    ['{"a": "b', 6, 'Unterminated string starting at'],
    ['"a\\', 0, 'Unterminated string starting at'],
    ['"a\nb"', 2, 'Invalid control character at'],
    ['"\\x"', 1, 'Invalid \\escape'],
    ['"\\u12"', 2, 'Invalid \\uXXXX escape'],
    ['"\\u12zz"', 2, 'Invalid \\uXXXX escape'],
    ['"\\u0041', 2, 'Invalid \\uXXXX escape'],
    ['{"a":NaN}', 5, 'Expecting value'],
    ['[Infinity]', 1, 'Expecting value'],
    ['[-Infinity]', 1, 'Expecting value'],
    ['{"a":1e400}', 5, 'Number out of range'],
    ['{"😀":1,}', 7, 'Expecting property name enclosed in double quotes'],
  ])('%j fails at %i: %s', async (text, offset, reason) => {
    expect(await read(text)).toEqual({ kind: 'malformed', offset, reason })
  })
})

describe('what is read', () => {
  test('a body without bytes is absent', async () => {
    expect(await readJsonBody(undefined, 'application/json')).toEqual({ kind: 'absent' })
    expect(await readJsonBody(Buffer.alloc(0), undefined)).toEqual({ kind: 'absent' })
  })

  test('a byte order mark of a body is skipped, and of equal members the last one counts', async () => {
    expect(await read('\ufeff{"a":1,"a":2}')).toEqual({ kind: 'value', value: { a: 2 } })
  })

  test.each([undefined, 'application/json; charset=latin1', 'application/merge-patch+json', 'Application/JSON'])(
    'content type %s is read as JSON',
    async (type) =>
      expect(await readJsonBody(Buffer.from('{"a":1}'), type)).toEqual({ kind: 'value', value: { a: 1 } }),
  )

  test.each(['text/plain', 'application/x-www-form-urlencoded', 'application/jsonx'])(
    'content type %s is not',
    async (type) => expect(await read('{"a":1}', type)).toEqual({ kind: 'text', value: '{"a":1}' }),
  )

  test('a body that is not UTF-8 is unreadable', async () => {
    expect(await readJsonBody(Buffer.from([0x7b, 0xff, 0x7d]), 'application/json')).toEqual({ kind: 'unreadable' })
  })

  test('the nesting of a body is limited, in valid and in invalid JSON', async () => {
    const nested = (depth: number, end: string) => '['.repeat(depth) + end
    expect((await read(nested(MAX_JSON_DEPTH, ']'.repeat(MAX_JSON_DEPTH)))).kind).toBe('value')
    expect(await read(nested(MAX_JSON_DEPTH + 1, ']'.repeat(MAX_JSON_DEPTH + 1)))).toEqual({ kind: 'unreadable' })
    expect(await read(nested(200_000, ''))).toEqual({ kind: 'unreadable' })
  })

  test('the number of values of a body is limited, in valid and in invalid JSON', async () => {
    const wide = (count: number, end: string) => `[${'0,'.repeat(count - 2)}0${end}`
    expect((await read(wide(MAX_JSON_VALUES, ']'))).kind).toBe('value')
    expect(await read(wide(MAX_JSON_VALUES + 1, ']'))).toEqual({ kind: 'too_many' })
    expect(await read(wide(MAX_JSON_VALUES + 1, ''))).toEqual({ kind: 'too_many' })
  })

  test('a large body is read in several turns of the event loop', async () => {
    const reading = read(`"${'x'.repeat(8 * 1024 * 1024)}"`)
    let turns = 0
    const count = () => (turns++, (next = setImmediate(count)))
    let next = setImmediate(count)
    expect((await reading).kind).toBe('value')
    clearImmediate(next)
    expect(turns).toBeGreaterThanOrEqual(8)
  })
})
