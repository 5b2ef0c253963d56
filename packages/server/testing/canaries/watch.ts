/**
 * Searches everything the service writes and sends during tests for canaries: bytes of every connection of this
 * process, output of
 * server processes, bodies that reach test doubles, and data directories when they are removed.
 *
 * Invariants
 *   W1. A match is recorded with its place and never thrown there: the running test fails at its end.
 *   W2. An allowed canary has a reason of `reasons.ts`, for the duration of a call or for one listener.
 */
import { subscribe } from 'node:diagnostics_channel'
import { readdir, readFile } from 'node:fs/promises'
import type { Server, Socket } from 'node:net'
import { join, relative } from 'node:path'
import { filesBelow } from '../files-below.ts'
import { FILES_OF_COMMANDS, type Reason } from './reasons.ts'
import { makeScanner, scan, type CanaryFound } from './scan.ts'

export type Hit = CanaryFound & { where: string }

type Watch = {
  hits: Hit[]
  /** Number of bytes and characters searched. */
  searched: number
  /** Number of running calls that may contain a canary. */
  excused: number
  outsiders: Set<number>
  isTapping: boolean
}

/** One per process, even when this file is loaded more than once. */
const watch: Watch = ((globalThis as Record<symbol, unknown>)[Symbol.for('parley.canaries')] ??= {
  hits: [],
  searched: 0,
  excused: 0,
  outsiders: new Set<number>(),
  isTapping: false,
} satisfies Watch) as Watch

/** Returns the matches since the last call and removes them. */
export const takeHits = (): Hit[] => watch.hits.splice(0)

/** Number of bytes and characters searched in this process. */
export const searched = (): number => watch.searched

/** Records canaries in a text that the service wrote or sent. */
export function search(where: string, text: string | Uint8Array): void {
  watch.searched += text.length
  for (const found of scan(text)) watch.hits.push({ where, ...found })
}

/** Allows canaries during a call, for data that an administrator requested. */
export async function excused<T>(_reason: Reason, work: () => Promise<T>): Promise<T> {
  watch.excused += 1
  try {
    return await work()
  } finally {
    // The last bytes of a connection arrive in the next turn of the event loop.
    await new Promise((resolve) => setImmediate(resolve))
    watch.excused -= 1
  }
}

/**
 * Excludes a listener that is not part of the service, until it closes: a vault, a model, or a machine where commands run.
 * Afterwards the system may give its port to a server under test.
 */
export function outsider(_reason: Reason, server: Pick<Server, 'address' | 'once'>): void {
  const address = server.address()
  if (typeof address !== 'object' || address === null) return
  const { port } = address
  watch.outsiders.add(port)
  server.once('close', () => watch.outsiders.delete(port))
}

/**
 * Searches every connection from now on: data that listeners of this process send, and data that its clients receive.
 */
export function tapConnections(): void {
  if (watch.isTapping) return
  watch.isTapping = true
  subscribe('net.server.socket', (message) => {
    const { socket } = message as { socket: Socket }
    tap(socket, 'write', () => socket.localPort, 'sent by a listener')
  })
  subscribe('net.client.socket', (message) => {
    const { socket } = message as { socket: Socket }
    tap(socket, 'push', () => socket.remotePort, 'received by a caller')
  })
}

/** Connections without a port lead to the runner; they carry secrets to commands and raw output back. */
function tap(socket: Socket, method: 'write' | 'push', portOf: () => number | undefined, where: string): void {
  const own = socket[method].bind(socket) as (...parts: unknown[]) => boolean
  const look = makeScanner((found) => {
    const port = portOf()
    if (port === undefined || watch.excused > 0 || watch.outsiders.has(port)) return
    for (const one of found) watch.hits.push({ where: `${where} at port ${port}`, ...one })
  })
  Reflect.set(socket, method, (chunk: unknown, ...rest: unknown[]): boolean => {
    if (typeof chunk === 'string' || chunk instanceof Uint8Array) {
      watch.searched += chunk.length
      look(chunk)
    }
    return own(chunk, ...rest)
  })
}

/** Returns a listener for the `data` of a process's output streams. */
export function outputScanner(where: string): (piece: string | Uint8Array) => void {
  const look = makeScanner((found) => watch.hits.push(...found.map((one) => ({ where, ...one }))))
  return (piece) => {
    watch.searched += piece.length
    look(piece)
  }
}

/** Searches the data directories in a folder: those with a store, at the top or one level below. */
export async function searchData(folder: string): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  const isData = entries.some(({ name }) => name === 'parley.db')
  if (isData) return searchFolder(folder, folder)
  for (const entry of entries) {
    if (!entry.isDirectory()) continue
    const inside = await readdir(join(folder, entry.name)).catch(() => [] as string[])
    if (inside.includes('parley.db')) await searchFolder(join(folder, entry.name), folder)
  }
}

async function searchFolder(data: string, folder: string): Promise<void> {
  const isOfCommands = (path: string) => FILES_OF_COMMANDS.some(({ at }) => at.test(`${relative(data, path)}/`))
  for await (const path of filesBelow(data, isOfCommands)) {
    // A file may be deleted while its server is still stopping.
    const bytes = await readFile(path).catch(() => null)
    if (bytes !== null) search(`the file ${relative(folder, path)}`, bytes)
  }
}
