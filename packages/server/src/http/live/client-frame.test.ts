import { expect, test } from 'vitest'
import { readClientFrame, serverError } from './client-frame.ts'
import { firstKey } from './first-frame.ts'

const frame = (value: unknown) =>
  readClientFrame(Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)), false)

test('a user message frame is read, with defaults for omitted members of content parts', async () => {
  expect(await frame({ role: 'user', content: [{ type: 'text', text: 'hi' }] })).toEqual({
    kind: 'message',
    content: [{ type: 'text', text: 'hi', cache_prompt: false }],
  })
})

test.each([
  ['{"role"', 'JSONDecodeError', "Expecting ':' delimiter: char 7"],
  [[], 'ValidationError', 'Input should be a valid dictionary or object to extract fields from'],
  [{ role: 'robot' }, 'ValidationError', "role: Input should be 'user', 'system', 'assistant' or 'tool'"],
  [{ role: 'user', content: [{ type: 'text' }] }, 'ValidationError', 'content.0.text.text: Field required'],
  [{ role: 'system', content: [] }, 'AssertionError', 'Only user messages are accepted'],
  ['['.repeat(300), 'JSONDecodeError', 'not text, or nested deeper than 200 levels'],
  [`[${'0,'.repeat(100_000)}0]`, 'JSONDecodeError', 'more than 100000 JSON values'],
  [
    { role: 'user', content: Array.from({ length: 1001 }, () => 0) },
    'ValidationError',
    'content: List should have at most 1000 items after validation, not 1001',
  ],
])('the client frame %j is refused as %s', async (value, code, detail) => {
  expect(await frame(value)).toEqual({ kind: 'problem', code, detail })
})

test('a binary client frame is refused', async () => {
  expect(await readClientFrame(Buffer.from('{}'), true)).toMatchObject({ kind: 'problem', code: 'KeyError' })
})

test('a repeated first frame is ignored, and a similar frame is refused', async () => {
  expect(await frame({ type: 'auth', session_api_key: 'k' })).toEqual({ kind: 'auth' })
  expect(await frame({ type: 'auth' })).toEqual({ kind: 'auth' })
  expect(await frame({ type: 'auth', role: 'user' })).toMatchObject({ kind: 'message' })
})

test('the error frame of a socket has the members of an event', () => {
  expect(JSON.parse(serverError('KeyError', 'x'))).toEqual({
    kind: 'ServerErrorEvent',
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}$/),
    source: 'environment',
    code: 'KeyError',
    detail: 'x',
  })
})

test.each([
  ['{"type":"auth","session_api_key":"k"}', 'k'],
  ['{"type":"auth"}', undefined],
  ['{"type":"hello","session_api_key":"k"}', undefined],
  ['["auth"]', undefined],
  ['k', undefined],
  ['', undefined],
])('the first frame %s holds the key %s', async (text, key) => {
  expect(await firstKey(Buffer.from(text))).toBe(key)
})
