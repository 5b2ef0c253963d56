import { mkdirSync } from 'node:fs'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { canary } from '../../packages/server/testing/canaries/values.ts'
import {
  EVERYTHING,
  faultyServer,
  isAlive,
  startListening,
  startsIn,
  stdio,
} from '../../packages/server/testing/mcp/servers.ts'
import { type Bench, startBench } from '../../packages/server/testing/two-user-server.ts'
import { until } from '../../packages/server/testing/until.ts'

let server: Bench
beforeEach(async () => {
  server = await startBench()
})
afterEach(() => server[Symbol.asyncDispose]())

const attempt = (spec: object, more: object = {}, headers: Record<string, string> = {}) =>
  server.call('POST', '/api/mcp/test', { server: spec, ...more }, headers)
const program = (given: object) => ({ type: 'stdio', ...given })

test('a tried program lists its tools, answers a call, and has ended with the answer', async () => {
  const journal = server.dir.file('journal')
  const { status, body } = await attempt(program(faultyServer('fine', journal)), {
    timeout: 60,
    tool_call: { name: 'say_kind', arguments: { kind: 'plain', url: 'ftp://not.requested' } },
  })
  expect({ status, body }).toEqual({
    status: 200,
    body: {
      ok: true,
      tools: expect.arrayContaining(['say_kind', 'where']),
      tool_result: { is_error: false, text: expect.stringContaining('plain') },
      resolved_mcp_servers: null,
      oauth_state: null,
    },
  })
  const [pid] = await startsIn(journal)
  await until(() => !isAlive(pid!))
})

test('a program that does not answer is ended when the time of the test is up', async () => {
  const journal = server.dir.file('journal')
  const { status, body } = await attempt(program(faultyServer('silent', journal)), { timeout: 1.5 })
  expect({ status, body }).toEqual({
    status: 200,
    body: { ok: false, error: 'The server did not answer within 1.5 seconds.', error_kind: 'timeout' },
  })
  for (const pid of await startsIn(journal)) await until(() => !isAlive(pid))
})

test('the last line that a failing program writes to standard error is part of the reason, with secrets masked', async () => {
  const secret = canary('user_secret_2')
  await server.call('PUT', '/api/settings/secrets', { name: 'DOOR', value: secret })
  const line = { command: 'sh', args: ['-c', 'echo "no entry with $DOOR" >&2; exit 3'], env: { DOOR: '${DOOR}' } }
  const { body } = await attempt(program(line), { timeout: 60 })
  expect(body).toMatchObject({ ok: false, error_kind: 'connection' })
  expect(body.error).toMatch(/no entry with (?!\$\{)/)
  expect(body.error).not.toContain(secret)
})

test('a program that does not exist is a failed test', async () => {
  expect((await attempt(program({ command: '/not/here' }), { timeout: 60 })).body).toMatchObject({ ok: false })
})

test('a server at an address is tried over its transport', async () => {
  await using there = await startListening('streamableHttp')
  const { body } = await attempt({ type: 'shttp', url: there.url }, { timeout: 60 })
  expect(body).toMatchObject({ ok: true, tools: expect.arrayContaining(['echo']), tool_result: null })
  expect(await attempt({ type: 'http', url: 'http://127.0.0.1:1/mcp' })).toMatchObject({
    status: 200,
    body: { ok: false, error_kind: 'connection', error: expect.stringContaining('refused') },
  })
})

test('an address of instance metadata is refused before anything is requested', async () => {
  const { status, body } = await attempt({ type: 'http', url: 'http://169.254.169.254/mcp' })
  expect(status).toBe(422)
  expect(body.detail[0].loc).toEqual(['body', 'server', 'url'])
})

test('a tried program works in no directory that its user may not reach', async () => {
  const theirs = server.dir.file('data', 'users', 'default')
  mkdirSync(theirs, { recursive: true })
  const { status, body } = await attempt(program({ ...stdio(EVERYTHING), cwd: theirs }), {}, server.bob)
  expect(status).toBe(422)
  expect(body.detail[0].loc).toEqual(['body', 'server', 'cwd'])
})

test('members of a server that contradict each other are refused', async () => {
  const auth = { strategy: 'bearer', value: 'x' }
  const spec = { type: 'http', url: 'http://127.0.0.1:1', headers: { Authorization: 'y' }, auth }
  expect((await attempt(spec)).status).toBe(422)
})
