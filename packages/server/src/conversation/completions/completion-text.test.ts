import { LLM } from '@parley/protocol'
import { expect, test } from 'vitest'
import type { LlmCompletion } from '../../llm/index.ts'
import { makeMasker } from '../../secrets/index.ts'
import { MAX_FILE_BYTES, MAX_FRAME_BYTES, shownCompletion } from './completion-text.ts'

const completion = (members: Partial<LlmCompletion> = {}): LlmCompletion => ({
  config: LLM.parse({ model: 'vendor/model:7b', usage_id: 'agent' }),
  attempt: 1,
  startedAt: Date.UTC(2026, 0, 2, 3, 4, 5, 678),
  latency: 0.5,
  url: 'http://127.0.0.1/v1',
  body: '{}',
  answer: null,
  error: null,
  ...members,
})
const NONE = makeMasker([])
const textOf = async (members: Partial<LlmCompletion>, masker = NONE) => {
  const shown = await shownCompletion(completion(members), masker)
  const [file, frame] = [await shown.forFile(), (await shown.forFrame()).log_data]
  return { file, frame, content: JSON.parse(frame) }
}

test('the name of a file begins with the time and has no character that a path could mean', async () => {
  const { filename, model_name, usage_id } = await (await shownCompletion(completion(), NONE)).forFrame()
  expect(filename).toMatch(/^2026-01-02T03-04-05\.678Z-vendor__model_7b-[0-9a-f]{8}\.json$/)
  expect([model_name, usage_id]).toEqual(['vendor/model:7b', 'agent'])
})

test.each([
  ['many texts', JSON.stringify({ messages: Array.from({ length: 300 }, () => '"\n'.repeat(6_000)) })],
  ['one text', JSON.stringify({ messages: ['ä'.repeat(4_000_000)] })],
  [
    'many members',
    JSON.stringify(Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`${'member'.repeat(40)} ${n}`, n]))),
  ],
  ['a text that is no JSON', 'x'.repeat(5_000_000)],
])('a request with %s beyond the limit is shortened until file and frame fit, and says so', async (_, body) => {
  const { file, frame, content } = await textOf({ body })
  expect(Buffer.byteLength(file)).toBeLessThanOrEqual(MAX_FILE_BYTES)
  expect(Buffer.byteLength(JSON.stringify(frame))).toBeLessThanOrEqual(MAX_FRAME_BYTES)
  expect(file).toContain('characters left out')
  expect(JSON.stringify(content.request)).toContain('characters left out')
  expect(content).toMatchObject({ attempt: 1, latency_sec: 0.5 })
})

test('a request that fits is whole, in the file also where it is too long for a frame', async () => {
  const short = { messages: ['x'.repeat(700_000)] }
  expect((await textOf({ body: JSON.stringify(short) })).content.request).toEqual(short)
  const long = { messages: ['x'.repeat(2_000_000)] }
  const { file, content } = await textOf({ body: JSON.stringify(long) })
  expect(JSON.parse(file).request).toEqual(long)
  expect(JSON.stringify(content.request)).toContain('characters left out')
})

test('a secret is masked in names of members, across the pieces of a long text, and in the configuration of the model', async () => {
  const secret = 'Sesame-9f3a7c'
  const key = 'sk-profile-77aa88'
  const body = JSON.stringify({ [secret]: `${'x'.repeat(65_530)}${secret} and Sesa`, key: `x-${key}` })
  const config = LLM.parse({ model: 'openai/m', api_key: key })
  const { file, frame, content } = await textOf({ body, config }, makeMasker([secret]))
  expect(file + frame).not.toMatch(new RegExp(`${secret}|${key}`))
  expect(content.request.key).toBe('x-<secret-hidden>')
  expect(content.request['<secret-hidden>']).toBe(`${'x'.repeat(65_530)}<secret-hidden> and Sesa`)
})

test.each([
  ['Anthropic', { type: 'base64', media_type: 'image/png', data: 'aGVsbG8=' }],
  ['Gemini', { mimeType: 'image/png', data: 'aGVsbG8=' }],
  ['OpenAI', { url: 'data:image/png;base64,aGVsbG8=' }],
])('an image in the form of %s is replaced by its size and digest', async (_, image) => {
  const { file } = await textOf({ body: JSON.stringify({ image }) })
  expect(file).toContain('5 bytes, sha256 2cf24dba5fb0a30e26e83b2ac5b9e29e')
  expect(file).not.toContain('aGVsbG8=')
})

test('a member that is only named like that of an image stays', async () => {
  const request = { data: 'aGVsbG8=', text: 'data: not an address' }
  expect((await textOf({ body: JSON.stringify(request) })).content.request).toEqual(request)
})
