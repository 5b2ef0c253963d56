import { connect } from 'node:net'
import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { canary } from '../../packages/server/testing/canaries/values.ts'
import { startScriptedModel, type ScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { startServerProcess, TEST_KEY, type ServerProcess } from '../../packages/server/testing/server-process.ts'
import { tempDir, type TempDir } from '../../packages/server/testing/temp.ts'
import { until } from '../../packages/server/testing/until.ts'

let dir: TempDir
let model: ScriptedModel
let server: ServerProcess

beforeAll(async () => {
  dir = await tempDir()
  model = await startScriptedModel({ respond: () => ({ text: 'fine' }) })
  server = await startServerProcess({
    dataDir: dir.file('data'),
    env: { PARLEY_BODY_LIMIT_BYTES: String(8 * 1024 * 1024), PARLEY_RUNNER_ORPHAN_EXIT_SECONDS: '5' },
  })
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await model[Symbol.asyncDispose]()
  await dir[Symbol.asyncDispose]()
})

const residentMb = async () =>
  Number(/VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${server.process.pid}/status`, 'utf8'))![1]) / 1024

async function newConversation(name: string): Promise<string> {
  const { body } = await server.call('POST', '/api/conversations', {
    workspace: { working_dir: dir.file('work', name) },
    agent: {
      kind: 'Agent',
      llm: { model: 'openai/x', base_url: `${model.url}/v1`, api_key: canary('llm_key') },
      tools: [{ name: 'terminal' }],
    },
  })
  return body.id
}

/** A turn of another conversation, which must not be affected. */
async function otherWorks(): Promise<void> {
  const id = await newConversation(`other-${Math.random()}`)
  await server.call('POST', `/api/conversations/${id}/events`, { content: [{ type: 'text', text: 'hi' }], run: true })
  await until(async () => (await server.call('GET', `/api/conversations/${id}`)).body.execution_status === 'finished')
}

async function raw(method: string, path: string, body: string | undefined): Promise<{ status: number; body: any }> {
  const response = await fetch(server.url + path, {
    method,
    headers: { 'X-Session-API-Key': TEST_KEY, 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body }),
  })
  return { status: response.status, body: await response.json() }
}

const UNKNOWN = '11111111-2222-4333-8444-555555555555'
const first = (loc: unknown[], type: string) => ({ detail: [expect.objectContaining({ loc, type })] })

test.each<[string, string, string, string | undefined, number, unknown]>([
  ['broken JSON', 'POST', '/api/conversations', '{"a":', 422, first(['body', 5], 'json_invalid')],
  [
    'an unknown member of a closed body',
    'POST',
    '/api/conversations',
    '{"foo":1}',
    422,
    first(['body', 'foo'], 'extra_forbidden'),
  ],
  [
    'a number for a text',
    'POST',
    '/api/conversations',
    '{"initial_user_msg":5}',
    422,
    first(['body', 'initial_user_msg'], 'string_type'),
  ],
  ['a list for an object', 'POST', '/api/conversations', '[]', 422, first(['body'], 'model_attributes_type')],
  ['an unknown conversation', 'GET', `/api/conversations/${UNKNOWN}`, undefined, 404, { detail: 'Not Found' }],
  [
    'an id that is none',
    'GET',
    '/api/conversations/zzz',
    undefined,
    422,
    first(['path', 'conversation_id'], 'uuid_parsing'),
  ],
  [
    'an id that climbs',
    'GET',
    '/api/conversations/..%2f..%2fetc%2fpasswd',
    undefined,
    422,
    first(['path', 'conversation_id'], 'uuid_parsing'),
  ],
  [
    'a limit out of range',
    'GET',
    '/api/conversations/search?limit=101',
    undefined,
    422,
    first(['query', 'limit'], 'less_than_equal'),
  ],
  ['an unknown path', 'GET', '/api/nothing', undefined, 404, { detail: 'Not Found' }],
  [
    'a message from nobody',
    'POST',
    `/api/conversations/${UNKNOWN}/events`,
    '{"role":"system"}',
    422,
    first(['body', 'role'], 'value_error'),
  ],
])('a request with %s gets its documented answer', async (_name, method, path, body, status, expected) => {
  const answer = await raw(method, path, body)
  expect(answer.body).toMatchObject(expected as object)
  expect(answer.status).toBe(status)
})

describe('large bodies', () => {
  test('a body of 100 MB is refused while it arrives, without using memory', async () => {
    const before = await residentMb()
    const { hostname, port } = new URL(server.url)
    const answers = await Promise.all(Array.from({ length: 4 }, () => flood(hostname, Number(port), 100 * 1024 * 1024)))
    for (const answer of answers) expect(answer).toMatch(/^HTTP\/1\.1 413 /)
    // Of 400 MB: read buffers that the runtime has not collected yet.
    expect((await residentMb()) - before).toBeLessThan(60)
    await otherWorks()
  }, 60_000)

  test('a request without a valid key is refused before its body is read', async () => {
    const response = await fetch(`${server.url}/api/conversations`, { method: 'POST', body: '{"broken' })
    expect([response.status, await response.json()]).toEqual([401, { detail: 'Unauthorized' }])
  })
})

test('stalled sockets use little memory and do not delay other clients', async () => {
  const id = await newConversation('stalled')
  const stalled = await Promise.all(Array.from({ length: 10 }, () => stall(`/sockets/events/${id}?after_seq=0`)))
  const before = await residentMb()
  const text = 'x'.repeat(100_000)
  for (let at = 0; at < 300; at++) {
    await server.call('POST', `/api/conversations/${id}/events`, { content: [{ type: 'text', text }] })
  }
  // 30 MB of events for each of ten stalled readers.
  expect((await residentMb()) - before).toBeLessThan(150)
  await otherWorks()
  for (const socket of stalled) socket.destroy()
  const { body } = await server.call('GET', `/api/conversations/${id}/events/count`)
  expect(body).toBeGreaterThanOrEqual(300)
}, 120_000)

/** Sends a request whose body is `bytes` long and resolves to the beginning of the answer. */
function flood(host: string, port: number, bytes: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, host)
    const chunk = Buffer.alloc(64 * 1024, 'a')
    let left = bytes
    const send = () => {
      while (left > 0 && socket.writable) {
        left -= chunk.length
        if (!socket.write(chunk)) return void socket.once('drain', send)
      }
    }
    socket.once('connect', () => {
      socket.write(
        `POST /api/conversations HTTP/1.1\r\nHost: ${host}\r\nX-Session-API-Key: ${TEST_KEY}\r\n` +
          `Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
      )
      socket.write(`${bytes.toString(16)}\r\n`)
      send()
    })
    socket.once('data', (data: Buffer) => {
      resolve(data.toString('latin1'))
      socket.destroy()
    })
    // The end of the connection may overtake the answer, because the rest of the body is not read.
    socket.once('error', reject)
    socket.once('close', () => reject(new Error('closed without an answer')))
  })
}

/** A socket whose client reads only the handshake. */
function stall(path: string): Promise<ReturnType<typeof connect>> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(server.url)
    const socket = connect(Number(port), hostname, () => {
      socket.write(
        `GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
          `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${Buffer.alloc(16).toString('base64')}\r\nX-Session-API-Key: ${TEST_KEY}\r\n\r\n`,
      )
    })
    socket.once('data', () => {
      socket.pause()
      resolve(socket)
    })
    socket.once('error', reject)
  })
}
