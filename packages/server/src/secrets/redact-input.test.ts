import fc from 'fast-check'
import { expect, test } from 'vitest'
import { HIDDEN, redactInput } from './redact.ts'

test.each<[unknown, unknown]>([
  [
    { name: 'n', value: 'v' },
    { name: 'n', value: HIDDEN },
  ],
  [{ llm_api_key: 12 }, { llm_api_key: HIDDEN }],
  [
    { Authorization: 'Bearer x', other: 'y' },
    { Authorization: HIDDEN, other: 'y' },
  ],
  [{ env: { A: 'x', B: ['y', { c: 'z' }] } }, { env: { A: HIDDEN, B: [HIDDEN, { c: HIDDEN }] } }],
  [{ headers: { Accept: 'x' } }, { headers: { Accept: HIDDEN } }],
  [
    { acp_env: { A: 'x' }, extra_headers: { B: 'y' } },
    { acp_env: { A: HIDDEN }, extra_headers: { B: HIDDEN } },
  ],
  ['https://ann:pass@git.example/a?b=c@d', `https://${HIDDEN}@git.example/a?b=c@d`],
  ['see https://git.example/@scope and a@b.example', 'see https://git.example/@scope and a@b.example'],
  [
    { secrets: { NAME: { value: 'x', is: true, none: null } } },
    { secrets: { NAME: { value: HIDDEN, is: true, none: null } } },
  ],
  [
    [{ token: 'x' }, 'y'],
    [{ token: HIDDEN }, 'y'],
  ],
  [5, 5],
  [null, null],
])('the refused input %j is shown as %j', (value, shown) => {
  expect(redactInput(value)).toEqual(shown)
})

test('a refused value is hidden when a name above it is secret', () => {
  expect(redactInput('x', ['body', 'agent', 'llm', 'api_key'])).toBe(HIDDEN)
  expect(redactInput('x', ['body', 'mcp', 'env', 'A'])).toBe(HIDDEN)
  expect(redactInput('x', ['body', 'title'])).toBe('x')
})

test('a refused path or header parameter named secret_id is hidden', () => {
  expect(redactInput('x', ['path', 'secret_id'])).toBe(HIDDEN)
})

test('a refused body that is not JSON is hidden when it mentions a secret', () => {
  expect(redactInput('{"api_key":"x"}', ['body'])).toBe(HIDDEN)
  expect(redactInput('name=a&password=x', ['body'])).toBe(HIDDEN)
  expect(redactInput('just text', ['body'])).toBe('just text')
  expect(redactInput('{"title":1}', ['body'])).toBe('{"title":1}')
  expect(redactInput('the token: x', ['body', 'title'])).toBe('the token: x')
})

test('of a long refused input the beginning is shown', () => {
  expect(redactInput('x'.repeat(1500))).toBe(`${'x'.repeat(1024)}…`)
  const numbers = Array.from({ length: 60 }, (_, index) => index)
  expect(redactInput(numbers)).toEqual(numbers.slice(0, 50))
  const members = (count: number) => Object.fromEntries(numbers.slice(0, count).map((n) => [`m${n}`, n]))
  expect(redactInput(members(60))).toEqual(members(50))
  const long = (count: number) => Object.fromEntries(numbers.slice(0, count).map((n) => [`m${n}`, 'x'.repeat(1000)]))
  expect(redactInput(long(10))).toEqual(long(4))
})

test('the shown part of a refused input is short for any input', () => {
  const huge = fc.oneof(
    fc.array(fc.string({ maxLength: 3000 }), { maxLength: 200 }),
    fc.dictionary(fc.string({ maxLength: 3000 }), fc.string({ maxLength: 3000 })),
    fc.string({ minLength: 2000, maxLength: 9000 }),
    fc.object({ maxDepth: 6, maxKeys: 20 }).map((value) => JSON.parse(JSON.stringify(value)) as unknown),
  )
  fc.assert(
    fc.property(huge, (value) => {
      expect(JSON.stringify(redactInput(value)).length).toBeLessThanOrEqual(4096)
    }),
  )
})

test('redacting a body with a hundred thousand levels does not exhaust the stack', () => {
  expect(JSON.stringify(redactInput(JSON.parse('['.repeat(100_000) + ']'.repeat(100_000)))).length).toBeLessThan(100)
})

test('no text under a secret name is ever shown', () => {
  const name = fc.constantFrom('api_key', 'X-Session-API-Key', 'client_secret', 'env', 'cookie', 'value', 'Passwords')
  fc.assert(
    fc.property(name, fc.jsonValue({ maxDepth: 3 }), (member, inner) => {
      const text = JSON.stringify(redactInput({ deep: [{ [member]: { a: ['LEAK', inner], b: 'LEAK' } }] }))
      expect(text).not.toContain('LEAK')
    }),
  )
})
