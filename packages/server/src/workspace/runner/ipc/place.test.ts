import { chmodSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { expect, test } from 'vitest'
import { tempDir } from '../../../../testing/temp.ts'
import { becomeRunner, connectRunner, openPlace, type Place } from './place.ts'

const close = (server: Server) => new Promise<void>((resolve) => void server.close(() => resolve()))

/**
 * Resolves when no runner can be reached. A program that this process is starting has a copy of a closed socket until its own
 * program replaces the copy, and accepts connections for that moment.
 */
async function noRunner(place: Place): Promise<void> {
  await expect
    .poll(async () => {
      const socket = await connectRunner(place)
      socket?.on('error', () => undefined).destroy()
      return socket
    })
    .toBeNull()
}

test('exactly one of several processes that start at once becomes the runner', async () => {
  await using dir = await tempDir()
  const place = openPlace(dir.path)
  for (let round = 0; round < 5; round++) {
    const servers = Array.from({ length: 8 }, () => createServer((socket) => void socket.end()))
    const won = await Promise.all(servers.map((server) => becomeRunner(server, place)))
    expect(won.filter((path) => path !== null)).toHaveLength(1)
    const socket = await connectRunner(place)
    expect(socket).not.toBeNull()
    socket?.destroy()
    await Promise.all(servers.map(close))
    await noRunner(place)
  }
  expect(readdirSync(place.sockets).filter((name) => name.includes('new-'))).toEqual([])
})

test("the runner's folders have mode 0700, and a folder that others can access is refused", async () => {
  await using dir = await tempDir()
  const { home } = openPlace(dir.path)
  expect(statSync(home).mode & 0o777).toBe(0o700)
  chmodSync(home, 0o755)
  expect(() => openPlace(dir.path)).toThrow(/mode 0700/)
})

test('the sockets of a data directory with a long path are in another folder, which is the same each time', async () => {
  await using dir = await tempDir()
  const long = dir.file('x'.repeat(120))
  mkdirSync(long)
  const place = openPlace(long)
  expect(place.sockets).not.toContain(place.home)
  expect(place.sockets.length).toBeLessThan(80)
  expect(openPlace(long)).toEqual(place)
  expect(statSync(place.sockets).mode & 0o777).toBe(0o700)
  const server = createServer()
  expect(await becomeRunner(server, place)).toMatch(/r1\.sock$/)
  await close(server)
  rmSync(place.sockets, { recursive: true })
})
