/**
 * Commands that a user runs outside a conversation. Source: agent-server-wire.md 1.7.
 *
 * Invariants
 *   B1. A command is stored before it begins, and goes through the runner under its id: a server that was killed meanwhile
 *       finds its end after the restart and starts nothing twice.
 *   B2. Of each stream at most `MAX_BYTES` are kept, the beginning and the end; the last output says what is missing.
 *   B3. A command, its output and its announcement belong to one user; nobody else finds or hears them.
 *   B4. There is exactly one output with an exit code, and it is the last.
 */
import { createHash, randomUUID } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import {
  BashCommand,
  type BashEvent,
  type BashOutput,
  eventTimestamp,
  type ExecuteBashRequest,
  ParleyError,
} from '@parley/protocol'
import { abortable } from '../../lib/index.ts'
import type { BashEventRow, BashQuery, BashStore } from '../../storage/index.ts'
import type { Hosts } from '../hosts.ts'
import { type Chunk, chunksOf, failed } from './chunks.ts'

/** Bytes kept of each stream. */
const MAX_BYTES = 8 * 1024 * 1024
/** What is remembered of a user's commands, oldest first out. */
const KEPT = { atMost: 10_000, maxBytes: 256 * 1024 * 1024 }
/** Commands between two looks at those bounds. */
const PRUNE_EVERY = 32
const ATTEMPTS = 3
/** Longest time limit of one command, in seconds. */
const MAX_SECONDS = 2_147_483

export type BashDeps = {
  store: BashStore
  hosts: Hosts
  /** Takes a user's secrets out of what a command printed, whole, so that none is split over outputs. Absent: nothing is. */
  hide?: (user: string, text: string) => Promise<string>
  log: { error: (fields: object, text: string) => void }
}

export interface Bash extends AsyncDisposable {
  /** Resolves when the command is stored; it goes on by itself. */
  start(user: string, request: ExecuteBashRequest): Promise<BashCommand>
  /** Runs to the end and resolves with the last output. An abort ends the waiting, not the command. */
  execute(user: string, request: ExecuteBashRequest, signal: AbortSignal): Promise<BashOutput>
  get(user: string, id: string): Promise<BashEvent | null>
  search(user: string, query: BashQuery): Promise<{ items: BashEvent[]; next: string | null }>
  /** How many events were forgotten. What runs goes on. */
  clear(user: string): Promise<number>
  /** Hears every event of this user from now on, as JSON too; ends when disposed. */
  listen(user: string, listener: (event: BashEvent) => void): Disposable
  /** Takes up commands whose end is not stored yet. Resolves when all are taken up. */
  recover(): Promise<void>
}

export function openBash(deps: BashDeps): Bash {
  const { store, hosts, log, hide = async (_, text) => text } = deps
  const closing = new AbortController()
  const listeners = new Map<string, Set<(event: BashEvent) => void>>()
  const running = new Set<Promise<unknown>>()
  let begun = 0

  async function record(user: string, event: BashEvent, closes = false): Promise<void> {
    await store.append(user, rowOf(event), closes)
    for (const listener of listeners.get(user) ?? []) listener(event)
  }

  async function outcome(user: string, command: BashCommand): Promise<Chunk[]> {
    const cwd = resolve(hosts.cwd, command.cwd ?? '.')
    const isDirectory = await stat(cwd).then(
      (found) => found.isDirectory(),
      () => false,
    )
    if (!isDirectory) return [failed(`no such directory: '${cwd}'`)]
    const request = {
      callId: command.id,
      argv: ['/bin/sh', '-c', command.command],
      cwd,
      timeoutMs: Math.min(Math.max(command.timeout, 0), MAX_SECONDS) * 1000,
      maxBytes: MAX_BYTES,
    }
    for (let attempt = 1; ; attempt++) {
      try {
        const result = await (await hosts.of(user)).exec(request, closing.signal)
        const [stdout, stderr] = [await hide(user, result.stdout), await hide(user, result.stderr)]
        return chunksOf({ ...result, stdout, stderr })
      } catch (error) {
        closing.signal.throwIfAborted()
        if (!(error instanceof ParleyError)) throw error
        // Under the same call id nothing is started twice; a new runner tells what became of it (B1).
        if (error.code !== 'unavailable' || attempt === ATTEMPTS) return [failed(error.message)]
      }
    }
  }

  async function follow(user: string, command: BashCommand): Promise<BashOutput> {
    const chunks = await outcome(user, command).catch((error: unknown): Chunk[] => {
      closing.signal.throwIfAborted()
      log.error({ err: error, command_id: command.id }, 'a command failed unexpectedly')
      return [failed('Internal Server Error')]
    })
    const last = chunks.length - 1
    let output: BashOutput | undefined
    for (const [order, chunk] of chunks.entries()) {
      output = { ...stamp(outputId(command, order)), command_id: command.id, order, ...chunk, kind: 'BashOutput' }
      await record(user, output, order === last)
    }
    hosts.forget?.(user, [command.id])
    if (begun++ % PRUNE_EVERY === 0) await store.prune(user, KEPT)
    return output!
  }

  /** The end is written down whether or not somebody waits for it. */
  function keep<T>(work: Promise<T>, command: BashCommand): Promise<T> {
    running.add(work)
    const forget = () => void running.delete(work)
    work.then(forget, (error: unknown) => {
      forget()
      if (!closing.signal.aborted) log.error({ err: error, command_id: command.id }, 'the end of a command is lost')
    })
    return work
  }

  async function begin(user: string, request: ExecuteBashRequest): Promise<[BashCommand, Promise<BashOutput>]> {
    closing.signal.throwIfAborted()
    const command: BashCommand = { ...stamp(randomUUID().replaceAll('-', '')), ...request, kind: 'BashCommand' }
    await record(user, command)
    return [command, keep(follow(user, command), command)]
  }

  return {
    start: async (user, request) => (await begin(user, request))[0],

    async execute(user, request, signal) {
      const [, ended] = await begin(user, request)
      return abortable(ended, signal)
    },

    async get(user, id) {
      const row = await store.get(user, id)
      return row === null ? null : eventOf(row)
    },

    async search(user, query) {
      const { items, next } = await store.search(user, query)
      return { items: items.map(eventOf), next }
    },

    clear: (user) => store.clear(user),

    listen(user, listener) {
      const mine = listeners.get(user) ?? new Set()
      listeners.set(user, mine.add(listener))
      return {
        [Symbol.dispose]: () => {
          mine.delete(listener)
          if (mine.size === 0 && listeners.get(user) === mine) listeners.delete(user)
        },
      }
    },

    async recover() {
      for (const { user, event } of await store.open()) {
        const command = BashCommand.parse(JSON.parse(event.json))
        void keep(follow(user, command), command).catch(() => undefined)
      }
    },

    async [Symbol.asyncDispose]() {
      closing.abort(new ParleyError('unavailable', 'the server is closing'))
      await Promise.allSettled(running)
    },
  }
}

const stamp = (id: string) => ({ id, timestamp: `${eventTimestamp(new Date())}Z` })

/** The same after a restart, so that an output that was stored before is not stored again. */
const outputId = ({ id }: BashCommand, order: number): string =>
  createHash('sha256').update(`${id}.${order}`).digest('hex').slice(0, 32)

const rowOf = (event: BashEvent): BashEventRow => ({
  id: event.id,
  kind: event.kind,
  command_id: event.kind === 'BashOutput' ? event.command_id : null,
  order: event.kind === 'BashOutput' ? event.order : null,
  timestamp: event.timestamp.replace('Z', ''),
  json: JSON.stringify(event),
})

const eventOf = ({ json }: BashEventRow): BashEvent => JSON.parse(json) as BashEvent
