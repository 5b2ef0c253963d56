/**
 * Commands that a user runs outside conversations. Source: agent-server-wire.md 1.7.
 *
 * Invariants
 *   B1. A command is stored before it begins, and its id is the call id in the runner: a server that was killed in between
 *       finds the end of the command after its restart and starts nothing twice.
 *   B2. At most `MAX_BYTES` of each stream are kept, the beginning and the end; the last output says how much is missing.
 *   B3. A command, its outputs and their announcements belong to one user; other users neither find nor receive them.
 *   B4. There is exactly one output with an exit code, and it is the last. While the store refuses it, storing it is repeated.
 */
import { createHash, randomUUID } from 'node:crypto'
import { stat } from 'node:fs/promises'
import {
  BashCommand,
  type BashEvent,
  type BashOutput,
  eventTimestamp,
  type ExecuteBashRequest,
  ParleyError,
} from '@parley/protocol'
import { abortable, type Backoff, backoffMs, sleep } from '../../lib/index.ts'
import type { Log } from '../../observability/index.ts'
import type { OpenCount } from '../../quotas/index.ts'
import type { BashEventRow, BashQuery, BashStore } from '../../storage/index.ts'
import type { Hosts } from '../hosts.ts'
import { isNotRecorded } from '../not-recorded.ts'
import { type Chunk, chunksOf, failed } from './chunks.ts'

/** Bytes kept of each stream. */
const MAX_BYTES = 8 * 1024 * 1024
/** Bounds of the stored events of one user; the oldest are deleted first. */
const KEPT = { atMost: 10_000, maxBytes: 256 * 1024 * 1024 }
/** Commands between two checks of those bounds. */
const PRUNE_EVERY = 32
const ATTEMPTS = 3
/** Waits between repetitions of an output that the store refused. */
const STORE_BACKOFF: Backoff = { baseMs: 1_000, maxMs: 60_000 }
/** Longest time limit of one command, in seconds. */
const MAX_SECONDS = 2_147_483

export type BashDeps = {
  store: BashStore
  hosts: Hosts
  /** Commands and programs of each user. */
  processes: Pick<OpenCount, 'refusalOf'>
  /** Masks a user's secrets in a complete stream, before it is cut into outputs. Absent: nothing is masked. */
  hide?: (user: string, text: string) => Promise<string>
  /** True for a user of whom nothing may run. */
  isSuspended: (user: string) => boolean
  log: Pick<Log, 'warn' | 'error'>
}

type Following = { isRecovered?: boolean; onRefused?: ((last: BashOutput) => void) | undefined }

export interface Bash extends AsyncDisposable {
  /** Resolves when the command is stored; the command then runs by itself. @throws ParleyError `rate_limited` */
  start(user: string, request: ExecuteBashRequest): Promise<BashCommand>
  /** Runs a command and resolves with its last output, also while the store refuses it. Aborting ends the waiting, not the command. */
  execute(user: string, request: ExecuteBashRequest, signal: AbortSignal): Promise<BashOutput>
  get(user: string, id: string): Promise<BashEvent | null>
  search(user: string, query: BashQuery): Promise<{ items: BashEvent[]; next: string | null }>
  /** Deletes the events of a user and returns their count. Running commands continue. */
  clear(user: string): Promise<number>
  /** Calls `listener` with every later event of this user, until disposed. */
  listen(user: string, listener: (event: BashEvent) => void): Disposable
  /** Ends the running commands of a user. Resolves when their ends are stored. */
  end(user: string): Promise<void>
  /** Resumes commands whose end is not stored yet. Resolves when all are resumed, not when they have ended. */
  recover(): Promise<void>
}

export const openBash = (deps: BashDeps): Bash => new BashCommands(deps)

class BashCommands implements Bash {
  readonly #deps: BashDeps
  readonly #closing = new AbortController()
  readonly #listeners = new Map<string, Set<(event: BashEvent) => void>>()
  /** The commands that run, with their users. */
  readonly #running = new Map<Promise<unknown>, string>()
  #ended = 0

  constructor(deps: BashDeps) {
    this.#deps = deps
  }

  async start(user: string, request: ExecuteBashRequest): Promise<BashCommand> {
    const { command } = await this.#begin(user, request)
    return command
  }

  async execute(user: string, request: ExecuteBashRequest, signal: AbortSignal): Promise<BashOutput> {
    const refused = Promise.withResolvers<BashOutput>()
    const { last } = await this.#begin(user, request, refused.resolve)
    return abortable(Promise.race([last, refused.promise]), signal)
  }

  async get(user: string, id: string): Promise<BashEvent | null> {
    const row = await this.#deps.store.get(user, id)
    return row === null ? null : eventOf(row)
  }

  async search(user: string, query: BashQuery): Promise<{ items: BashEvent[]; next: string | null }> {
    const { items, next } = await this.#deps.store.search(user, query)
    return { items: items.map(eventOf), next }
  }

  clear(user: string): Promise<number> {
    return this.#deps.store.clear(user)
  }

  listen(user: string, listener: (event: BashEvent) => void): Disposable {
    const mine = this.#listeners.get(user) ?? new Set()
    this.#listeners.set(user, mine.add(listener))
    return {
      [Symbol.dispose]: () => {
        mine.delete(listener)
        if (mine.size === 0 && this.#listeners.get(user) === mine) this.#listeners.delete(user)
      },
    }
  }

  async recover(): Promise<void> {
    for (const { user, event } of await this.#deps.store.open()) {
      const command = BashCommand.parse(JSON.parse(event.json))
      void this.#track(this.#follow(user, command, { isRecovered: true }), user, command).catch(() => undefined)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new ParleyError('unavailable', 'the server is closing'))
    await Promise.allSettled(this.#running.keys())
  }

  async end(user: string): Promise<void> {
    await this.#deps.hosts.release(user)
    await Promise.allSettled([...this.#running].flatMap(([work, of]) => (of === user ? [work] : [])))
  }

  /** Real path of the working directory of a command. @throws RefusedPath for one that the user's requests may not reach */
  async #directoryOf(user: string, { cwd }: Pick<ExecuteBashRequest, 'cwd'>): Promise<string> {
    const { hosts } = this.#deps
    const { workingDir } = await hosts.of(user)
    return hosts.roots(user).directory(cwd ?? '.', ['cwd'], workingDir)
  }

  /**
   * Stores a command and starts it. The promise is wrapped, because `await` would wait for it.
   * @param onRefused called with the last output when the store refuses an output
   */
  async #begin(
    user: string,
    request: ExecuteBashRequest,
    onRefused?: (last: BashOutput) => void,
  ): Promise<{ command: BashCommand; last: Promise<BashOutput> }> {
    this.#closing.signal.throwIfAborted()
    const refusal = this.#deps.processes.refusalOf(user)
    if (refusal !== null) throw refusal
    await this.#directoryOf(user, request)
    const command: BashCommand = { ...stamp(randomUUID().replaceAll('-', '')), ...request, kind: 'BashCommand' }
    await this.#record(user, command)
    return { command, last: this.#track(this.#follow(user, command, { onRefused }), user, command) }
  }

  /**
   * Runs a command to its end and stores its outputs, also when no caller waits for the last one.
   * @param isRecovered true for a command of an earlier process, which may have begun
   */
  async #follow(
    user: string,
    command: BashCommand,
    { isRecovered = false, onRefused }: Following = {},
  ): Promise<BashOutput> {
    const { hosts, store, log } = this.#deps
    const chunks = await this.#run(user, command, isRecovered).catch((error: unknown): Chunk[] => {
      this.#closing.signal.throwIfAborted()
      log.error({ err: error, command_id: command.id }, 'bash command failed unexpectedly')
      return [failed('Internal Server Error')]
    })
    const outputs = chunks.map((chunk, order): BashOutput => {
      const { id: command_id } = command
      return { ...stamp(outputId(command, order)), command_id, order, ...chunk, kind: 'BashOutput' }
    })
    const last = outputs.at(-1)!
    for (const output of outputs) await this.#recordOutput(user, output, output === last, () => onRefused?.(last))
    hosts.forget?.(user, [command.id])
    if (this.#ended++ % PRUNE_EVERY === 0)
      await store.prune(user, KEPT).catch((err: unknown) => log.warn({ err }, 'old bash events not deleted'))
    return last
  }

  /** Stores an output; what the store refuses is repeated, because nothing else would produce it again before a restart (B4). */
  async #recordOutput(user: string, output: BashOutput, closes: boolean, onRefused: () => void): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#record(user, output, closes)
      } catch (err) {
        if (!(err instanceof ParleyError) || err.code !== 'unavailable') throw err
        this.#closing.signal.throwIfAborted()
        onRefused()
        const { command_id } = output
        this.#deps.log.warn(
          { command_id, attempt, err },
          'output of a bash command refused by the store, to be repeated',
        )
      }
      await sleep(
        backoffMs(STORE_BACKOFF, attempt, () => 1),
        this.#closing.signal,
      )
    }
  }

  async #run(user: string, command: BashCommand, isRecovered: boolean): Promise<Chunk[]> {
    const { hosts, hide = async (_, text) => text } = this.#deps
    const cwd = await this.#directoryOf(user, command).catch((error: unknown) => {
      if (error instanceof ParleyError) return failed(error.message)
      throw error
    })
    if (typeof cwd !== 'string') return [cwd]
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
      if (this.#deps.isSuspended(user)) return [failed('the user is disabled')]
      try {
        const host = await hosts.of(user)
        if (isRecovered && (await host.ledger([command.id], this.#closing.signal))[command.id]?.state === 'unknown')
          return [failed('the outcome of this command is not known, and it was not repeated')]
        const result = await host.exec(request, this.#closing.signal)
        const [stdout, stderr] = [await hide(user, result.stdout), await hide(user, result.stderr)]
        return chunksOf({ ...result, stdout, stderr })
      } catch (error) {
        this.#closing.signal.throwIfAborted()
        if (!(error instanceof ParleyError)) throw error
        // Repeating the call id starts nothing twice: a new runner answers from the record of the call (B1).
        if (error.code !== 'unavailable' || isNotRecorded(error) || attempt === ATTEMPTS) return [failed(error.message)]
      }
    }
  }

  async #record(user: string, event: BashEvent, closes = false): Promise<void> {
    await this.#deps.store.append(user, rowOf(event), closes)
    for (const listener of this.#listeners.get(user) ?? []) listener(event)
  }

  /** Keeps `work` until it ends, so that closing waits for it, and logs a failure that would leave a command without an end. */
  #track<T>(work: Promise<T>, user: string, command: BashCommand): Promise<T> {
    this.#running.set(work, user)
    const forget = () => void this.#running.delete(work)
    work.then(forget, (error: unknown) => {
      forget()
      if (this.#closing.signal.aborted) return
      this.#deps.log.error({ err: error, command_id: command.id }, 'end of a bash command not stored')
    })
    return work
  }
}

const stamp = (id: string) => ({ id, timestamp: `${eventTimestamp(new Date())}Z` })

/** The same id after a restart, so that an output is not stored twice. */
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
