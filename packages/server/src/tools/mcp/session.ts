/**
 * One MCP server of one workspace, shared by the conversations that use it.
 *
 * Invariants
 * M1. It is connected on demand, and at most once at a time; the connection is closed when it was not used for a while.
 * M2. A call that the server did not receive is sent once more over a new connection; one that may have had an effect
 *       never is.
 *   M3. A failure concerns only its caller: the next caller tries again.
 */
import { ParleyError } from '@parley/protocol'
import { abortable, timeLimit, timeoutSignal } from '../../lib/index.ts'
import { connect, type CallToolResult, type Connection, type ConnectOptions, type ListedTool } from './connection.ts'
import type { Endpoint } from './endpoint.ts'
import { lossOf, reasonOf } from './failure.ts'

export type SessionLimits = {
  /** Milliseconds for starting, negotiating and listing tools. */
  connectMs: number
  /** Milliseconds without a call after which the connection is closed and the program ended. */
  idleMs: number
}

export type SessionDeps = {
  endpoint: Endpoint
  openWorkspace: ConnectOptions['openWorkspace']
  fetch: ConnectOptions['fetch']
  limits: SessionLimits
}

/** Changes of the list within this many milliseconds cause one request. */
const RELIST_AFTER_MS = 50

type Live = { connection: Connection; tools: readonly ListedTool[] }
type Listener = (tools: readonly ListedTool[]) => void

export class Session implements AsyncDisposable {
  readonly #deps: SessionDeps
  readonly #end = new AbortController()
  readonly #listeners = new Set<Listener>()
  #live: Promise<Live> | null = null
  readonly #openings = new WeakMap<Live, Promise<Live>>()
  /** Settles when all earlier connections are closed. */
  #closing: Promise<unknown> = Promise.resolve()
  #busy = 0
  #idle: NodeJS.Timeout | undefined
  #relisting: NodeJS.Timeout | undefined

  constructor(deps: SessionDeps) {
    this.#deps = deps
  }

  /**
   * Returns the tools that the server lists, connecting first if needed. @throws ParleyError `unavailable` with the
   * reason.
   */
  tools(signal: AbortSignal): Promise<readonly ListedTool[]> {
    return this.#using(async () => (await this.#connected(signal)).tools)
  }

  /** Calls `listener` whenever the server listed its tools; returns a function that unsubscribes. */
  onTools(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /**
   * Calls a tool.
   * @throws ParleyError `unavailable` when the server cannot be reached or is lost; the server's own error for a
   * refused call
   */
  call(name: string, args: Record<string, unknown>, timeoutMs: number, signal: AbortSignal): Promise<CallToolResult> {
    return this.#using(async () => {
      for (let attempt = 1; ; attempt++) {
        const live = await this.#connected(signal)
        try {
          return await live.connection.call(name, args, timeoutMs, signal)
        } catch (error) {
          signal.throwIfAborted()
          const loss = lossOf(error)
          if (loss === null) throw error
          this.#disconnect(live)
          if (loss === 'midway') throw unavailable(`${MIDWAY} (${reasonOf(error)})`, error)
          if (attempt === 2) throw unavailable(reasonOf(error), error)
        }
      }
    })
  }

  /** An aborted wait leaves the connection to the other waiters. */
  #connected(signal: AbortSignal): Promise<Live> {
    if (this.#end.signal.aborted) return Promise.reject(unavailable('it was let go'))
    if (this.#live === null) {
      const opening = this.#open()
      this.#live = opening
      const reset = () => {
        if (this.#live === opening) this.#live = null
      }
      opening.then((live) => {
        this.#openings.set(live, opening)
        void live.connection.closed.then(reset)
        this.#notify(live)
      }, reset)
    }
    return abortable(this.#live, signal)
  }

  async #open(): Promise<Live> {
    const { endpoint, openWorkspace, fetch, limits } = this.#deps
    const limit = new AbortController()
    const late = unavailable(`it was not ready within ${limits.connectMs / 1000} s`)
    using _limit = timeLimit(limits.connectMs, () => limit.abort(late))
    const signal = AbortSignal.any([limit.signal, this.#end.signal])
    let connection: Connection | null = null
    try {
      await abortable(this.#closing, signal)
      let live: Live | null = null
      const onListChanged = () => {
        if (live !== null) this.#relist(live)
      }
      connection = await connect(endpoint, { openWorkspace, onListChanged, fetch }, signal)
      live = { connection, tools: [] }
      live.tools = await abortable(connection.list(signal), signal)
      return live
    } catch (error) {
      await connection?.[Symbol.asyncDispose]()
      signal.throwIfAborted()
      throw error instanceof ParleyError ? error : unavailable(reasonOf(error), error)
    }
  }

  #notify({ tools }: Live): void {
    for (const listener of this.#listeners) listener(tools)
  }

  /** When the list cannot be read, the previous one remains valid. */
  #relist(live: Live): void {
    this.#relisting ??= setTimeout(() => {
      this.#relisting = undefined
      const signal = AbortSignal.any([timeoutSignal(this.#deps.limits.connectMs), this.#end.signal])
      live.connection.list(signal).then(
        (tools) => {
          live.tools = tools
          this.#notify(live)
        },
        () => undefined,
      )
    }, RELIST_AFTER_MS)
  }

  async #using<T>(work: () => Promise<T>): Promise<T> {
    clearTimeout(this.#idle)
    this.#busy += 1
    try {
      return await work()
    } finally {
      this.#busy -= 1
      if (this.#busy === 0 && !this.#end.signal.aborted)
        this.#idle = setTimeout(() => void this.#close(() => this.#busy === 0), this.#deps.limits.idleMs).unref()
    }
  }

  /** Another connection may have replaced it, for another caller that found it lost. */
  #disconnect(live: Live): void {
    if (this.#live === this.#openings.get(live)) this.#live = null
    this.#closing = Promise.all([this.#closing, live.connection[Symbol.asyncDispose]()])
  }

  async #close(isWanted = () => true): Promise<void> {
    const live = await this.#live?.catch(() => null)
    if (live !== null && live !== undefined && isWanted()) this.#disconnect(live)
    await this.#closing
  }

  /** Ends running calls, the connection and the program. May be called twice. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort(unavailable('it was let go'))
    clearTimeout(this.#idle)
    clearTimeout(this.#relisting)
    await this.#close()
  }
}

const MIDWAY = 'the connection was lost during the call; whether it took effect is not known, and it was not made again'

const unavailable = (reason: string, cause?: unknown): ParleyError =>
  new ParleyError('unavailable', reason, cause === undefined ? {} : { cause })
