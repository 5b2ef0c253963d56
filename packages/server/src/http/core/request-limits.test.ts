import { createServer } from 'node:http'
import { once } from 'node:events'
import { connect, type AddressInfo } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { expect, test } from 'vitest'
import { BODY_LIMIT_BYTES, createSecret, LARGE_BODY_LIMIT_BYTES, sendMessage } from '@parley/protocol'
import { bodyLimitOf, CONNECTION_LIMITS, limitSilence } from './request-limits.ts'

test('the limit of a body is that of its row, and a configured one replaces all', () => {
  expect(bodyLimitOf(sendMessage, null)).toBe(LARGE_BODY_LIMIT_BYTES)
  expect(bodyLimitOf(createSecret, null)).toBe(BODY_LIMIT_BYTES)
  expect(bodyLimitOf(undefined, null)).toBe(BODY_LIMIT_BYTES)
  for (const row of [sendMessage, createSecret]) expect(bodyLimitOf(row, 4096)).toBe(4096)
})

test('a connection whose reader takes nothing of a large answer is closed', async () => {
  const closed = Promise.withResolvers<boolean>()
  const server = createServer((raw, response) => {
    const limits = { ...CONNECTION_LIMITS, silentMs: 100 }
    limitSilence({ raw } as FastifyRequest, { raw: response } as FastifyReply, limits)
    response.once('close', () => closed.resolve(response.writableFinished))
    response.end(Buffer.alloc(64 * 1024 * 1024))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1').pause()
  client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  expect(await closed.promise).toBe(false)
  client.destroy()
  server.close()
})
