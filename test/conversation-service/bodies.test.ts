/**
 * Answers of the five endpoints to refused bodies, member for member. `bodies/` contains the expected answers, derived from the
 * description of the format.
 */
import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { TEST_KEY } from '../../packages/server/testing/server-process.ts'
import { tempDir, type TempDir } from '../../packages/server/testing/temp.ts'
import { verifies } from '../verifies.ts'
import { envelope } from './bodies/envelope.ts'
import { newConversation } from './bodies/new-conversation.ts'
import { type Row } from './bodies/say.ts'
import { create, update } from './bodies/secrets.ts'
import { settings } from './bodies/settings.ts'
import { webhook } from './bodies/webhook.ts'
import { serve, type Loose, type Serving } from '../../packages/server/testing/multi-user-server.ts'

const ENDPOINTS: Record<string, { method: string; path: string; rows: Row[] }> = {
  'New Conversation': { method: 'POST', path: '/api/conversations', rows: newConversation },
  'Store Settings': { method: 'POST', path: '/api/settings', rows: settings },
  'Create Custom Secret': { method: 'POST', path: '/api/secrets', rows: create },
  'Update Custom Secret': { method: 'PUT', path: '/api/secrets/A_SECRET', rows: update },
  'On Conversation Update': { method: 'POST', path: '/api/v1/webhooks/conversations', rows: webhook },
}

let dir: TempDir
let serving: Serving
beforeAll(async () => {
  dir = await tempDir()
  serving = await serve(dir.file('data'))
  await serving.call('POST', '/api/secrets', { name: 'A_SECRET', value: 'a value' })
})
afterAll(async () => {
  await serving[Symbol.asyncDispose]()
  await dir[Symbol.asyncDispose]()
})

type Got = { status: number; type: string | undefined; json: Loose; text: string }

/** Sends these bytes with this content type; `fetch` would choose one itself. */
function send(method: string, path: string, { body, contentType }: Row): Promise<Got> {
  const bytes = Buffer.isBuffer(body) || typeof body === 'string' ? body : JSON.stringify(body)
  const headers = {
    'x-session-api-key': TEST_KEY,
    'content-length': Buffer.byteLength(bytes),
    ...(contentType !== null && { 'content-type': contentType ?? 'application/json' }),
  }
  const { promise, resolve, reject } = Promise.withResolvers<Got>()
  const call = request(new URL(path, serving.server.url), { method, headers }, (answer) => {
    const chunks: Buffer[] = []
    answer.on('data', (chunk: Buffer) => chunks.push(chunk))
    answer.on('end', () => {
      const text = Buffer.concat(chunks).toString()
      resolve({ status: answer.statusCode ?? 0, type: answer.headers['content-type'], text, json: JSON.parse(text) })
    })
  })
  call.on('error', reject)
  call.end(bytes)
  return promise
}

const stored = async () => {
  const paths = ['/api/conversations/count', '/api/secrets', '/api/settings']
  return (await Promise.all(paths.map((path) => serving.call('GET', path)))).map(({ text }) => text)
}

test('the tables of bodies have enough rows, and unique names', () => {
  const rows = Object.values(ENDPOINTS).flatMap(({ rows: own }) => own)
  expect(rows.length + 5 * envelope.length).toBeGreaterThan(700)
  for (const { rows: own } of Object.values(ENDPOINTS)) {
    const names = own.map(({ name }) => name)
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([])
  }
})

describe.each(Object.entries(ENDPOINTS))('%s', (_, { method, path, rows }) => {
  const refusing = [...envelope, ...rows].filter((row) => !('status' in row) || row.status >= 400)

  test.each(rows.filter((row) => !refusing.includes(row)).map((row) => [row.name, row] as const))(
    'takes %s',
    async (_name, row) => {
      const { status, json } = await send(method, path, row)
      expect({ status, json }).toEqual({
        status: 'status' in row ? row.status : 0,
        json: 'json' in row ? row.json : json,
      })
    },
  )

  test.each(refusing.map((row) => [row.name, row] as const))('a body with %s is refused', async (_name, row) => {
    const { status, type, json, text } = await send(method, path, row)
    const expected = 'detail' in row ? { status: 422, json: { detail: row.detail } } : row
    expect({ status, json }).toEqual({ status: expected.status, json: expected.json })
    expect(type).toBe('application/json')
    // Members are in the format's order, without blanks.
    expect(text).toBe(JSON.stringify(json))
    for (const entry of json.detail as Loose[]) {
      if (typeof entry === 'object')
        expect(Object.keys(entry).join()).toBe(
          ['type', 'loc', 'msg', 'input', ...('ctx' in entry ? ['ctx'] : [])].join(),
        )
    }
  })

  test('a refused body leaves nothing in the store', async () => {
    const before = await stored()
    for (const row of refusing) await send(method, path, row)
    expect(await stored()).toEqual(before)
  })
})

verifies(
  [
    'seed.errors.422',
    'seed.errors.detail',
    'seed.errors.loc',
    'seed.errors.msg',
    'seed.errors.type',
    'seed.errors.input',
    'seed.errors.ctx',
    'design.errors.422.format',
    'design.start.422',
    'seed.endpoint.new-conversation.invalid',
  ],
  'a 422 is an object with a list of failures, each with type, loc and msg, with input and, where there is one, ctx',
  async () => {
    for (const { method, path, rows } of Object.values(ENDPOINTS)) {
      const told = rows.flatMap((row) => ('detail' in row ? [row] : []))
      const withContext = told.find(({ detail }) => detail.some(({ ctx }) => ctx !== undefined))!
      for (const row of [told[0]!, withContext]) {
        const { status, json } = await send(method, path, row)
        expect(status).toBe(422)
        expect(Object.keys(json)).toEqual(['detail'])
        expect(json.detail).toEqual(row.detail)
        for (const { loc, msg, type } of json.detail) {
          expect(
            Array.isArray(loc) && loc.every((part: unknown) => typeof part === 'string' || Number.isInteger(part)),
          ).toBe(true)
          expect([typeof msg, typeof type]).toEqual(['string', 'string'])
        }
      }
    }
  },
)

verifies('design.errors.lax', 'scalars of a body are read leniently, and no other value becomes a text', async () => {
  const store = (body: unknown) => serving.call('POST', '/api/settings', body)
  const read = async () => (await serving.call('GET', '/api/settings')).json
  for (const [sent, meant] of [
    ['"5"', 5],
    [' 7.0 ', 7],
    ['" 1_000 "', 1000],
    ['true', 1],
  ] as const) {
    expect((await store(`{"max_iterations":${sent}}`)).status).toBe(200)
    expect((await read()).max_iterations).toBe(meant)
  }
  for (const [sent, meant] of [
    ['"yes"', true],
    ['0', false],
    ['"ON"', true],
    ['"f"', false],
  ] as const) {
    expect((await store(`{"enable_sound_notifications":${sent}}`)).status).toBe(200)
    expect((await read()).enable_sound_notifications).toBe(meant)
  }
  for (const sent of [5, true, 5.5]) expect((await store({ language: sent })).status).toBe(422)
})
