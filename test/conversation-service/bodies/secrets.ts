/** Create Custom Secret and Update Custom Secret. */
import {
  extra,
  HIDDEN,
  hidden,
  missing,
  pattern,
  refused,
  row,
  rowsOf,
  type Row,
  stringType,
  tooLong,
  tooShort,
} from './say.ts'

const NAME = pattern('^[A-Za-z_][A-Za-z0-9_]*$')
const RESERVED = refused('this name belongs to the system or the server; choose another one')
const LONG = 'A'.repeat(256)

/** Bodies with invalid names. */
const names = (base: object): Row[] => [
  ...rowsOf(['name'], 'text', { nullable: false, base }),
  row(['name'], '', tooShort('1 character', 1), base),
  row(['name'], LONG, tooLong(255), base),
  ...['1A', 'A-B', 'A B', 'A.B', 'A/B', '\u00c4', 'A\n', ' A', '\u{1f600}', 'A\u0000'].map((name) =>
    row(['name'], name, NAME, base),
  ),
  ...['PATH', 'HOME', 'LD_PRELOAD', 'PARLEY_ANYTHING', 'BASH_ENV'].map((name) => row(['name'], name, RESERVED, base)),
]

export const create: Row[] = [
  { name: 'nothing', body: {}, detail: [missing(['name'], {}), missing(['value'], {})] },
  { name: 'no name', body: { value: 's3cret' }, detail: [missing(['name'], { value: HIDDEN })] },
  {
    name: 'no value',
    body: { name: 'A', description: 'd' },
    detail: [missing(['value'], { name: 'A', description: 'd' })],
  },
  {
    name: 'the name in another spelling, the value beside it',
    body: { Name: 'A', value: 's3cret', api_key: 'k', nested: { token: 't', plain: 'p' } },
    detail: [missing(['name'], { Name: 'A', value: HIDDEN, api_key: HIDDEN, nested: { token: HIDDEN, plain: 'p' } })],
  },
  ...names({ value: 'a value' }),
  ...rowsOf(['value'], 'text', { nullable: false, isSecret: true, base: { name: 'A' } }),
  {
    name: 'a value with NUL',
    body: { name: 'A', value: 'a\u0000b' },
    detail: [refused('a secret cannot hold the character NUL')(['value'], HIDDEN)],
  },
  {
    name: 'a value beyond 64 KiB',
    body: { name: 'A', value: 'x'.repeat(65_537) },
    detail: [refused('a secret has at most 65536 bytes')(['value'], HIDDEN)],
  },
  {
    name: 'a value of few characters and many bytes',
    body: { name: 'A', value: '\u{1f600}'.repeat(16_385) },
    detail: [refused('a secret has at most 65536 bytes')(['value'], HIDDEN)],
  },
  ...rowsOf(['description'], 'text', { base: { name: 'A', value: 'a value' } }),
  {
    name: 'all at once, in the order of the declaration',
    body: { value: 5, description: 6, name: 7 },
    detail: [stringType(['name'], 7), stringType(['description'], 6), stringType(['value'], HIDDEN)],
  },
]

export const update: Row[] = [
  { name: 'nothing', body: {}, detail: [missing(['name'], {})] },
  { name: 'no name', body: { description: 'd' }, detail: [missing(['name'], { description: 'd' })] },
  ...names({}),
  ...rowsOf(['description'], 'text', { base: { name: 'A' } }),
  ...['new', '', 5, null, { a: 'b' }, ['x']].map((value): Row => ({
    name: `a value: ${JSON.stringify(value)}`,
    body: { name: 'A', value },
    detail: [extra(['value'], hidden(value))],
  })),
  {
    name: 'an unknown member',
    body: { name: 'A', id: 1 },
    status: 200,
    json: { message: 'Secret updated successfully' },
  },
  {
    name: 'a missing name and a value',
    body: { value: 's3cret' },
    detail: [missing(['name'], { value: HIDDEN }), extra(['value'], HIDDEN)],
  },
]
