import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { LookupSecret } from '@parley/protocol'
import { expect, test } from 'vitest'
import { openLookups } from './lookup.ts'

/** A vault that gives another value each time, and lookups that may ask it, under a clock of the test. */
async function openVault() {
  let asked = 0
  let isDown = false
  const server = createServer((_, response) => {
    asked += 1
    response.writeHead(isDown ? 503 : 200).end(`value-${asked}`)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const time = { ms: 0 }
  const lookups = openLookups({
    hosts: [host],
    ownUrl: () => null,
    clock: () => time.ms,
    log: { warn: () => undefined },
  })
  const source = LookupSecret.parse({ kind: 'LookupSecret', url: `http://${host}/value` })
  return {
    host,
    time,
    lookups,
    source,
    value: () => lookups.value('KEY', source),
    goDown: () => (isDown = true),
    goUp: () => (isDown = false),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

test('a looked-up value is cached for a minute', async () => {
  await using vault = await openVault()
  expect([await vault.value(), await vault.value()]).toEqual(['value-1', 'value-1'])
  vault.time.ms = 59_999
  expect(await vault.value()).toBe('value-1')
  vault.time.ms = 60_001
  expect(await vault.value()).toBe('value-2')
})

test('a value is looked up again after a command failed with it, at most every five seconds', async () => {
  await using vault = await openVault()
  expect(await vault.value()).toBe('value-1')
  for (let n = 0; n < 10; n++) vault.lookups.refresh(vault.source)
  expect(await vault.value()).toBe('value-1')
  vault.time.ms = 5_001
  expect(await vault.value()).toBe('value-2')
  expect(vault.lookups.seen(vault.source)).toEqual(['value-1', 'value-2'])
})

test('the values of the sources that were used last are kept, up to a number of bytes', async () => {
  const server = createServer((request, response) => {
    response.writeHead(200).end(`${request.url} `.padEnd(64 * 1024, 'x'))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const lookups = openLookups({ hosts: [host], ownUrl: () => null, log: { warn: () => undefined } })
  const sourceOf = (n: number) => LookupSecret.parse({ kind: 'LookupSecret', url: `http://${host}/${n}` })
  const kept = (n: number) => lookups.seen(sourceOf(n)).length
  const [first, last] = [0, 16 * 16]
  for (let n = first; n <= last; n++) {
    expect(await lookups.value(`KEY_${n}`, sourceOf(n))).toContain(`/${n} `)
    expect(kept(first)).toBe(1)
  }
  expect([kept(first), kept(1), kept(last)]).toEqual([1, 0, 1])
  server.closeAllConnections()
  server.close()
})

test('a failed look-up is cached for a minute, and earlier values stay masked', async () => {
  await using vault = await openVault()
  await vault.value()
  vault.goDown()
  vault.time.ms = 60_001
  expect(await vault.value()).toBeNull()
  vault.goUp()
  vault.time.ms = 120_000
  expect(await vault.value()).toBeNull()
  vault.time.ms = 120_002
  expect(await vault.value()).toBe('value-3')
  expect(vault.lookups.seen(vault.source)).toEqual(['value-1', 'value-3'])
})

test('a stored secret that was looked up at one node is looked up at another one after its conversation has moved there', async () => {
  await using first = await openVault()
  await using second = await openVault()
  const at = ({ host }: { host: string }) =>
    openLookups({ hosts: [], ownUrl: () => `http://${host}`, log: { warn: () => undefined } })
  const source = LookupSecret.parse({ kind: 'LookupSecret', url: '/api/settings/secrets/KEY' })
  const accepted = at(first).accept('KEY', source)
  first.goDown()
  expect(await at(second).value('KEY', accepted)).toBe('value-1')
  const other = { ...accepted, url: accepted.url.replace('/api/settings/secrets/KEY', '/other') }
  expect(await at(second).value('KEY', other)).toBeNull()
})
