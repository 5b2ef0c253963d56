/** A call that its node has sent, and that arrives when the conversation has another owner. */
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { COMMANDS, EXECUTOR_KEY, lineOf, startFleet } from '../../packages/server/testing/fleet.ts'
import { followFleet } from '../../packages/server/testing/fleet-follower.ts'
import { until } from '../../packages/server/testing/until.ts'
import { LEASE_SECONDS } from './frozen-owner.ts'

/** Passes requests on. Those that start a command wait until they are let through; then the answer is known. */
async function startHoldingProxy(target: string) {
  const { hostname, port } = new URL(target)
  const held: (() => Promise<{ id: string }>)[] = []
  let isHolding = true
  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk as Buffer)
    const pass = () => {
      const answered = Promise.withResolvers<string>()
      const { method, headers, url: path } = incoming
      const outgoing = request({ hostname, port, path, method, headers, agent: false }, async (answer) => {
        const parts: Buffer[] = []
        for await (const part of answer) parts.push(part as Buffer)
        response.writeHead(answer.statusCode ?? 502, answer.headers).end(Buffer.concat(parts))
        answered.resolve(Buffer.concat(parts).toString())
      })
      outgoing.on('error', answered.reject)
      outgoing.end(Buffer.concat(chunks))
      return answered.promise
    }
    if (!isHolding || incoming.url !== '/api/bash/start_bash_command')
      return void pass().catch(() => response.destroy())
    held.push(async () => JSON.parse(await pass()) as { id: string })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    held,
    letThrough() {
      isHolding = false
    },
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

test('a call that was sent before its node was frozen, and arrives after another node has taken over, is refused by the executor', async () => {
  await using fleet = await startFleet({ nodes: 2, leaseSeconds: LEASE_SECONDS })
  await using proxy = await startHoldingProxy(fleet.executor.url)
  const id = await fleet.create(proxy.url)
  await using follower = followFleet(fleet.proxy.url, id)
  // The other node may take over when its session is as old as a lease.
  await sleep(LEASE_SECONDS * 1000)
  await fleet.say(id, 0)
  await until(() => proxy.held.length === 1)
  const owner = (await fleet.ownerOf(id))!
  owner.freeze()
  // The other node has asked the executor about the call, which has not begun, and sends it too.
  await until(() => proxy.held.length === 2, 60_000)
  expect(fleet.executed()).toEqual([])

  const late = await proxy.held[0]!()
  const query = `command_id__eq=${late.id}&kind__eq=BashOutput`
  await until(async () => {
    const headers = { 'X-Session-API-Key': EXECUTOR_KEY }
    const answer = await fetch(`${fleet.executor.url}/api/bash/bash_events/search?${query}`, { headers })
    const { items } = (await answer.json()) as { items: { exit_code: number | null }[] }
    return items.some(({ exit_code }) => exit_code !== null)
  })
  expect(fleet.executed()).toEqual([])

  proxy.letThrough()
  await proxy.held[1]!()
  await until(() => follower.finished === 1, 60_000)
  owner.wake()
  await until(async () => (await owner.call('GET', `/api/conversations/${id}`).catch(() => null))?.status === 200)
  expect(fleet.executed()).toEqual(Array.from({ length: COMMANDS }, (_, command) => lineOf(id, 0, command)))
  expect(await fleet.ownerOf(id)).not.toBe(owner)
  expect(follower.faults).toEqual([])
}, 120_000)
