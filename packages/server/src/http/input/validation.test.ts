import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { kindUnion, laxBoolean, laxInt, laxNumber, list, map, tagUnion } from '@parley/protocol'
import { readJsonBody } from './json-body.ts'
import { InvalidInput, read, readBody, readQuery } from './validation.ts'

const details = (schema: z.ZodType, input: unknown) => {
  const { entries } = read(schema, input, ['body'])
  return new InvalidInput(entries).detail
}
const first = (schema: z.ZodType, input: unknown) => details(schema, input)[0]
const field = (schema: z.ZodType, value: unknown) => first(z.object({ a: schema }), { a: value })

describe('what is wrong with one field', () => {
  const id = '^[a-z]+$'
  test.each<[string, z.ZodType, unknown, Record<string, unknown>]>([
    ['text', z.string(), 5, { type: 'string_type', msg: 'Input should be a valid string' }],
    ['null for text', z.string(), null, { type: 'string_type' }],
    [
      'short text',
      z.string().min(1),
      '',
      { type: 'string_too_short', msg: 'String should have at least 1 character', ctx: { min_length: 1 } },
    ],
    [
      'long text',
      z.string().max(2),
      'abc',
      { type: 'string_too_long', msg: 'String should have at most 2 characters', ctx: { max_length: 2 } },
    ],
    [
      'pattern',
      z.string().regex(/^[a-z]+$/),
      'A',
      { type: 'string_pattern_mismatch', msg: `String should match pattern '${id}'`, ctx: { pattern: id } },
    ],
    [
      'integer',
      laxInt(),
      'many',
      { type: 'int_parsing', msg: 'Input should be a valid integer, unable to parse string as an integer' },
    ],
    ['fraction', laxInt(), 5.5, { type: 'int_from_float' }],
    ['null for integer', laxInt(), null, { type: 'int_type', msg: 'Input should be a valid integer' }],
    [
      'exclusive minimum',
      laxInt({ gt: 0 }),
      0,
      { type: 'greater_than', msg: 'Input should be greater than 0', ctx: { gt: 0 } },
    ],
    ['minimum after coercion', laxInt({ ge: 1 }), '0', { type: 'greater_than_equal', input: '0', ctx: { ge: 1 } }],
    [
      'maximum',
      laxInt({ le: 100 }),
      101,
      { type: 'less_than_equal', msg: 'Input should be less than or equal to 100', ctx: { le: 100 } },
    ],
    ['number', laxNumber(), 'x', { type: 'float_parsing' }],
    ['infinite', laxNumber(), 'inf', { type: 'finite_number' }],
    [
      'boolean',
      laxBoolean(),
      'maybe',
      { type: 'bool_parsing', msg: 'Input should be a valid boolean, unable to interpret input' },
    ],
    ['null for boolean', laxBoolean(), null, { type: 'bool_type' }],
    ['list', z.array(z.string()), 'x', { type: 'list_type', msg: 'Input should be a valid list' }],
    [
      'empty list',
      z.array(z.string()).min(1),
      [],
      {
        type: 'too_short',
        msg: 'List should have at least 1 item after validation, not 0',
        ctx: { field_type: 'List', min_length: 1, actual_length: 0 },
      },
    ],
    [
      'full list',
      z.array(z.int()).max(2),
      [1, 2, 3],
      { type: 'too_long', ctx: { field_type: 'List', max_length: 2, actual_length: 3 } },
    ],
    ['no tuple', z.tuple([z.string()]), 'x', { type: 'tuple_type' }],
    [
      'short tuple',
      z.tuple([z.string(), z.string(), z.string()]),
      ['a', 'b'],
      { type: 'missing', loc: ['body', 'a', 2], input: ['a', 'b'] },
    ],
    [
      'long tuple',
      z.tuple([z.string()]),
      ['a', 'b'],
      {
        type: 'too_long',
        msg: 'Tuple should have at most 1 item after validation, not 2',
        ctx: { field_type: 'Tuple', max_length: 1, actual_length: 2 },
      },
    ],
    ['map', z.record(z.string(), z.string()), [], { type: 'dict_type', msg: 'Input should be a valid dictionary' }],
    [
      'map value',
      z.record(z.string(), z.string()),
      { k: 1 },
      { type: 'string_type', loc: ['body', 'a', 'k'], input: 1 },
    ],
    [
      'map key',
      z.record(z.string().regex(/^[a-z]+$/), z.string()),
      { K: 'v' },
      { type: 'string_pattern_mismatch', loc: ['body', 'a', 'K', '[key]'], input: 'K' },
    ],
    ['model', z.object({}), 'x', { type: 'model_attributes_type' }],
    [
      'enumeration',
      z.enum(['idle', 'running', 'deleting']),
      'Idle',
      {
        type: 'enum',
        msg: "Input should be 'idle', 'running' or 'deleting'",
        ctx: { expected: "'idle', 'running' or 'deleting'" },
      },
    ],
    [
      'literal',
      z.literal('only'),
      1,
      { type: 'literal_error', msg: "Input should be 'only'", ctx: { expected: "'only'" } },
    ],
    [
      'step',
      z.number().multipleOf(5),
      7,
      { type: 'multiple_of', msg: 'Input should be a multiple of 5', ctx: { multiple_of: 5 } },
    ],
    [
      'own check',
      z.string().refine(() => false, 'no such thing'),
      'x',
      { type: 'value_error', msg: 'Value error, no such thing', ctx: { error: {} } },
    ],
    ['nullable', z.string().nullable(), 7, { type: 'string_type', loc: ['body', 'a'] }],
    ['alternatives', z.union([z.string(), z.array(z.string())]), 7, { type: 'string_type', loc: ['body', 'a', 'str'] }],
  ])('%s', (_, schema, value, expected) => {
    expect(field(schema, value)).toMatchObject({ loc: ['body', 'a'], input: value, ...expected })
  })
})

describe('unions', () => {
  const trigger = tagUnion('type', {
    keyword: z.object({ type: z.literal('keyword'), keywords: z.array(z.string()) }),
    task: z.object({ type: z.literal('task'), triggers: z.array(z.string()) }),
  })
  const agent = kindUnion('AgentBase', {
    Agent: z.object({ kind: z.literal('Agent'), llm: z.object({ model: z.string() }) }),
    ACPAgent: z.object({ kind: z.literal('ACPAgent'), acp_command: z.array(z.string()) }),
  })

  test('a recognised union tag is part of loc', () => {
    expect(field(trigger, { type: 'task', triggers: 'x' })).toMatchObject({
      type: 'list_type',
      loc: ['body', 'a', 'task', 'triggers'],
      input: 'x',
    })
    expect(field(z.array(trigger), [{ type: 'task' }])).toMatchObject({
      type: 'missing',
      loc: ['body', 'a', 0, 'task', 'triggers'],
      input: { type: 'task' },
    })
  })

  test('a missing or unknown tag is reported on the union', () => {
    expect(field(trigger, {})).toMatchObject({
      type: 'union_tag_not_found',
      loc: ['body', 'a'],
      ctx: { discriminator: "'type'" },
    })
    expect(field(trigger, { type: 'x' })).toMatchObject({
      type: 'union_tag_invalid',
      loc: ['body', 'a'],
      ctx: { discriminator: "'type'", tag: 'x', expected_tags: "'keyword', 'task'" },
    })
    expect(field(trigger, null)).toMatchObject({ type: 'model_attributes_type', loc: ['body', 'a'] })
  })

  test('a tagged union of plain zod has the same failures', () => {
    const plain = z.discriminatedUnion('type', [z.object({ type: z.literal('a') }), z.object({ type: z.literal('b') })])
    expect(field(plain, { type: 'x' })).toMatchObject({
      type: 'union_tag_invalid',
      loc: ['body', 'a'],
      ctx: { expected_tags: "'a', 'b'" },
    })
  })

  test.each([
    ['a union', z.union([z.union([z.string(), z.boolean()]), z.array(z.string())]), ['str', 'bool', 'list[str]']],
    [
      'three deep, in a map',
      z.record(z.string(), z.union([z.union([z.union([z.string(), z.boolean()]), z.null()]), z.array(z.string())])),
      ['k.str', 'k.bool', 'k.null', 'k.list[str]'],
    ],
    [
      'one as a key',
      z.record(z.union([z.string().regex(/^x/), z.union([z.string().regex(/^y/), z.string().regex(/^z/)])]), z.any()),
      ['k.[key]'],
    ],
  ])('%s inside a union is told branch by branch', (_, schema, expected) => {
    const value = schema.type === 'record' ? { k: {} } : {}
    const found = details(z.object({ a: schema }), { a: value })
    expect(found.map(({ loc }) => loc.slice(2, 4).join('.'))).toEqual(expected)
  })

  test('a kind is not part of loc, and an unknown kind is a value_error on the union', () => {
    expect(field(agent, { kind: 'Agent', llm: {} })).toMatchObject({
      type: 'missing',
      loc: ['body', 'a', 'llm', 'model'],
      input: {},
    })
    expect(field(agent, { kind: 'X', b: 1 })).toMatchObject({
      type: 'value_error',
      loc: ['body', 'a'],
      input: { b: 1 },
      ctx: { error: {} },
    })
  })
})

describe('several failures', () => {
  const body = z.strictObject({ name: z.string(), count: laxInt(), tags: z.array(z.string()).optional() })

  test('failures are in the order of declaration, with unknown members last in the order of the input', () => {
    const found = details(body, { z: 1, tags: ['ok', 7], y: 2, count: 'x' })
    expect(found.map(({ type, loc }) => [type, loc.slice(1).join('.')])).toEqual([
      ['missing', 'name'],
      ['int_parsing', 'count'],
      ['string_type', 'tags.1'],
      ['extra_forbidden', 'z'],
      ['extra_forbidden', 'y'],
    ])
  })

  test('the input of a missing member is the object that lacks it', () => {
    expect(first(z.object({ in: body }), { in: { count: 1 } })).toEqual({
      type: 'missing',
      loc: ['body', 'in', 'name'],
      msg: 'Field required',
      input: { count: 1 },
    })
  })

  test('members of a failure are in the order type, loc, msg, input, ctx', () => {
    expect(Object.keys(field(laxInt({ gt: 0 }), 0) ?? {})).toEqual(['type', 'loc', 'msg', 'input', 'ctx'])
  })
})

describe('the body as a whole', () => {
  const object = z.object({ a: z.string().optional() })
  const answer = async (text: string, schema: z.ZodType = object, type = 'application/json', optional = false) =>
    new InvalidInput(readBody(schema, await readJsonBody(Buffer.from(text), type), optional).entries).detail[0]

  test.each(['', 'null'])('the body %j is reported as missing', async (text) => {
    expect(await answer(text)).toEqual({ type: 'missing', loc: ['body'], msg: 'Field required', input: null })
    expect(await answer(text, object, 'application/json', true)).toBeUndefined()
  })

  test('a failure for malformed JSON names the offset', async () => {
    expect(await answer('{"a":')).toEqual({
      type: 'json_invalid',
      loc: ['body', 5],
      msg: 'JSON decode error',
      input: {},
      ctx: { error: 'Expecting value' },
    })
  })

  test.each(['[1]', '"x"', '5', 'true'])('the body %s is refused as not an object', async (text) => {
    expect(await answer(text)).toEqual({
      type: 'model_attributes_type',
      loc: ['body'],
      msg: 'Input should be a valid dictionary or object to extract fields from',
      input: JSON.parse(text) as unknown,
    })
  })

  test('an object is refused as a list, and a list as a map', async () => {
    expect(await answer('{}', z.array(z.string()))).toMatchObject({ type: 'list_type', loc: ['body'] })
    expect(await answer('[]', z.record(z.string(), z.string()))).toMatchObject({ type: 'dict_type', loc: ['body'] })
  })

  test('a body with another content type is refused as a text', async () => {
    expect(await answer('{"a":"b"}', object, 'text/plain')).toMatchObject({
      type: 'model_attributes_type',
      input: '{"a":"b"}',
    })
  })

  test('a body that is not text is refused before the schema is applied', async () => {
    const body = await readJsonBody(Buffer.from([0xff]), undefined)
    expect(() => readBody(object, body, false)).toThrow('There was an error parsing the body')
  })
})

describe('a refusal has a bounded size', () => {
  const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`n${at}`, at]))
  const sizeOf = (schema: z.ZodType, input: unknown) => {
    const found = details(schema, input)
    return [found.length, JSON.stringify(found).length] as const
  }

  test('at most 50 failures of a request are reported, in the order of the format', () => {
    const found = details(z.strictObject({ name: z.string(), tags: list(z.string()) }), {
      tags: Array.from({ length: 1000 }, () => 0),
      ...many(1000),
    })
    expect(found.length).toBe(50)
    expect(found.slice(0, 2).map(({ loc }) => loc.slice(1))).toEqual([['name'], ['tags', 0]])
    const unknown = details(z.strictObject({}), many(1000))
    expect(unknown.map(({ loc }) => loc[1])).toEqual(Object.keys(many(50)))
  })

  test('of path, query and body together at most 50 failures are reported', () => {
    const { entries } = read(z.strictObject({}), many(60), ['body'])
    expect(new InvalidInput([...entries, ...entries]).detail.length).toBe(50)
  })

  test('an object that lacks many members is shown once per failure, and shortened', () => {
    const shape = Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`field${at}`, z.string()]))
    const [count, size] = sizeOf(z.object(shape), {
      ...many(99_000),
      wide: Array.from({ length: 1000 }, () => many(50)),
    })
    expect(count).toBe(50)
    expect(size).toBeLessThan(250_000)
  })

  test('long names and tags of a request are shortened in loc, msg and ctx', () => {
    const name = 'n'.repeat(100_000)
    const value = tagUnion('type', { a: z.object({ type: z.literal('a') }) })
    const [count, size] = sizeOf(map(list(z.string())), { [name]: Array.from({ length: 60 }, () => 0) })
    expect(count).toBe(50)
    expect(size).toBeLessThan(50_000)
    const [first] = details(z.object({ a: value }), { a: { type: name } })
    expect(first?.msg.length).toBeLessThan(5_000)
    expect(JSON.stringify(first?.ctx).length).toBeLessThan(10_000)
  })

  test('a text that is not JSON is hidden when it is long and may name a secret', () => {
    const long = `a=${'x'.repeat(100_000)}&password=hunter2`
    expect(first(z.object({}), long)?.input).toBe('**********')
    expect(first(z.object({}), 'x'.repeat(100_000))?.input).toMatch(/^x+…$/)
  })
})

describe('what is echoed', () => {
  test('the input of a failure masks secrets everywhere and contains well-formed texts', () => {
    expect(first(z.object({ name: z.string() }), { value: 's3cret', api_key: 'k', plain: 'p' })?.input).toEqual({
      value: '**********',
      api_key: '**********',
      plain: 'p',
    })
    expect(first(z.object({ llm_api_key: z.string() }), { llm_api_key: 12 })?.input).toBe('**********')
    expect(field(z.int(), '\ud800')?.input).toBe('\ufffd')
  })

  test('a large input of a failure is shortened', () => {
    expect(JSON.stringify(field(z.int(), 'x'.repeat(100_000))).length).toBeLessThan(5000)
  })
})

describe('a query', () => {
  const query = z.object({
    limit: laxInt({ ge: 1, le: 100 }).default(100),
    ids: z.array(z.string()).optional(),
    full: laxBoolean().default(false),
  })

  test('repeated query names are a list where the schema expects one; elsewhere the last one counts', () => {
    expect(readQuery(query, { ids: 'a', limit: ['3', '5'], full: 'on' }).value).toEqual({
      limit: 5,
      ids: ['a'],
      full: true,
    })
    expect(readQuery(query, { ids: ['a', 'b'], other: 'x' }).value).toEqual({
      limit: 100,
      ids: ['a', 'b'],
      full: false,
    })
  })

  test('the input of a query failure is the received text', () => {
    expect(new InvalidInput(readQuery(query, { limit: 'x' }).entries).detail).toEqual([
      {
        type: 'int_parsing',
        loc: ['query', 'limit'],
        msg: 'Input should be a valid integer, unable to parse string as an integer',
        input: 'x',
      },
    ])
  })
})
