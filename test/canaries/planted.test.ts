import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { WebSocketServer } from 'ws'
import { canary } from '../../packages/server/testing/canaries/values.ts'
import {
  excused,
  outputScanner,
  outsider,
  search,
  searchData,
  takeHits,
} from '../../packages/server/testing/canaries/watch.ts'
import { startTestServer } from '../../packages/server/testing/server.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { startWebhookReceiver } from '../../packages/server/testing/webhook-receiver.ts'

/** Places of canaries found since the last call, each once. */
const places = () => [...new Set(takeHits().map(({ where, name }) => `${name}: ${where.replace(/\d+/, 'N')}`))]

const SENT = 'sent by a listener at port N'
const RECEIVED = 'received by a caller at port N'

/** A server that leaks: over HTTP in two chunks that split the secret, and over a socket. */
async function startLeak() {
  const secret = canary('user_secret')
  const http = createServer((_, response) => {
    response.setHeader('content-length', Buffer.byteLength(secret))
    response.write(secret.slice(0, 5))
    setImmediate(() => response.end(secret.slice(5)))
  }).listen(0, '127.0.0.1')
  const sockets = new WebSocketServer({ server: http })
  sockets.on('connection', (socket) => socket.send(JSON.stringify({ leak: canary('llm_key') })))
  await once(http, 'listening')
  return {
    http,
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      for (const client of sockets.clients) client.terminate()
      http.closeAllConnections()
      http.close()
      await once(http, 'close')
    },
  }
}

test('a secret in a response is found, on both ends of the connection', async () => {
  await using leak = await startLeak()
  await (await fetch(leak.url)).text()
  expect(places().toSorted()).toEqual([`user_secret: ${RECEIVED}`, `user_secret: ${SENT}`])
})

test('a secret in a frame of a socket is found', async () => {
  await using leak = await startLeak()
  const socket = new WebSocket(leak.url.replace('http', 'ws'))
  await once(socket, 'message')
  expect(places().toSorted()).toEqual([`llm_key: ${RECEIVED}`, `llm_key: ${SENT}`])
})

test('a response of the real server with a secret is reported unless an administrator requested it', async () => {
  await using server = await startTestServer()
  await server.call('POST', '/api/secrets', { name: 'PLANTED', value: canary('user_secret_2') })
  const ask = () => server.call('GET', '/api/settings/secrets/PLANTED')
  expect((await ask()).body).toBe(canary('user_secret_2'))
  expect(places()).toContain(`user_secret_2: ${SENT}`)
  expect((await excused('clear text', ask)).body).toBe(canary('user_secret_2'))
  expect(places()).toEqual([])
})

test('secrets sent by a test double of a vault are not reported', async () => {
  await using leak = await startLeak()
  outsider('a vault', leak.http)
  await (await fetch(leak.url)).text()
  expect(places()).toEqual([])
})

test('a secret in the output of a process is found, also across two chunks', async () => {
  const [head, tail] = [canary('git_token').slice(0, 4), canary('git_token').slice(4)]
  const script = `process.stderr.write(${JSON.stringify(head)}); setTimeout(() => process.stderr.write(${JSON.stringify(tail)}), 50)`
  const child = spawn(process.execPath, ['-e', script])
  child.stderr.on('data', outputScanner('standard error'))
  await once(child, 'close')
  expect(places()).toEqual(['git_token: standard error'])
})

test('a secret in a webhook is found', async () => {
  await using receiver = await startWebhookReceiver()
  const body = JSON.stringify({ id: 'x', leak: canary('mcp_env') })
  await fetch(`${receiver.url}/conversations`, { method: 'POST', headers: { 'webhook-id': '1' }, body })
  expect(places()).toEqual(['mcp_env: a webhook'])
})

test('a secret in a file of a data directory is found, but not in what a command wrote into its workspace', async () => {
  await using dir = await tempDir()
  await mkdir(dir.file('data', 'workspaces', 'one'), { recursive: true })
  await mkdir(dir.file('data', 'conversations'), { recursive: true })
  await writeFile(dir.file('data', 'parley.db'), 'nothing')
  await writeFile(dir.file('data', 'workspaces', 'one', 'out.txt'), canary('mcp_header'))
  await searchData(dir.path)
  expect(places()).toEqual([])
  await writeFile(
    dir.file('data', 'conversations', 'one.json'),
    Buffer.from(`x${canary('mcp_header')}`).toString('base64'),
  )
  await searchData(dir.path)
  expect(places()).toEqual(['null: the file data/conversations/one.json'])
  search('by hand', canary('remote_key'))
  // The folder is searched again when it is removed.
  await dir[Symbol.asyncDispose]()
  expect(places()).toEqual(['remote_key: by hand', 'null: the file data/conversations/one.json'])
})
