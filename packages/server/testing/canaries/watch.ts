/**
 * Searches what the service writes and sends during tests for canaries: bytes of every connection of this process, output of
 * server processes, bodies that reach doubles, and data directories when they are removed.
 *
 * Invariants
 *   W1. What is found is noted with its place and never thrown where it was found: the test that runs is failed at its end.
 *   W2. What may hold a canary is excused by a reason of `reasons.ts`, for as long as a call takes or for one listener.
 */
import { subscribe } from 'node:diagnostics_channel'
import { readdir, readFile } from 'node:fs/promises'
import type { Server, Socket } from 'node:net'
import { join, relative } from 'node:path'
import { FILES_OF_COMMANDS, type Reason } from './reasons.ts'
import { makeScanner, scan, type Found } from './scan.ts'

export type Hit = Found & { where: string }

type Watch = {
  hits: Hit[]
  /** Bytes and characters that were searched. */
  searched: number
  /** Calls under way that may show a canary. */
  excused: number
  outsiders: Set<number>
  isTapping: boolean
}

/** One per process, however often this file is loaded in it. */
const watch: Watch = ((globalThis as Record<symbol, unknown>)[Symbol.for('parley.canaries')] ??= {
  hits: [],
  searched: 0,
  excused: 0,
  outsiders: new Set<number>(),
  isTapping: false,
} satisfies Watch) as Watch

/** What was found since the last call; it counts no longer. */
export const takeHits = (): Hit[] => watch.hits.splice(0)

/** How much has been searched in this process. */
export const searched = (): number => watch.searched

/** Notes canaries in a text that the service wrote or sent. */
export function search(where: string, text: string | Uint8Array): void {
  watch.searched += text.length
  for (const found of scan(text)) watch.hits.push({ where, ...found })
}

/** Lets a call show what an administrator asked to see. */
export async function excused<T>(_reason: Reason, work: () => Promise<T>): Promise<T> {
  watch.excused += 1
  try {
    return await work()
  } finally {
    // The last bytes of a connection come a turn later.
    await new Promise((resolve) => setImmediate(resolve))
    watch.excused -= 1
  }
}

/** What this listener says is not the service's: it stands for a vault, a model, or a machine where commands run. */
export function outsider(_reason: Reason, server: Pick<Server, 'address'>): void {
  const address = server.address()
  if (typeof address === 'object' && address !== null) watch.outsiders.add(address.port)
}

/** Searches every connection from now on: what listeners of this process send, and what comes back to its callers. */
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

/** Connections without a port are those to the runner, which carry secrets to commands and raw output back. */
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

/** Searches what a process says; for the `data` of its streams. */
export function outputScanner(where: string): (piece: string | Uint8Array) => void {
  const look = makeScanner((found) => watch.hits.push(...found.map((one) => ({ where, ...one }))))
  return (piece) => {
    watch.searched += piece.length
    look(piece)
  }
}

/** Searches the data directories in a folder: those that hold a store, at the top or one level below. */
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
  const entries = await readdir(data, { recursive: true, withFileTypes: true })
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name)
    if (!entry.isFile() || FILES_OF_COMMANDS.some(({ at }) => at.test(relative(data, path)))) continue
    // A file may go while its server still ends.
    const bytes = await readFile(path).catch(() => null)
    if (bytes !== null) search(`the file ${relative(folder, path)}`, bytes)
  }
}
