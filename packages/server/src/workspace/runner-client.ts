/**
 * Client of the runner: connects on the first request, starts a runner when there is none, and reconnects after the connection
 * has ended. A request in progress then fails with `unavailable`; a repeated request with the same call id attaches to the
 * process and starts nothing twice. A runner that hangs while a request waits is ended, and the next request starts another one,
 * which knows the calls of the first as unknown. So every request has a limit: the program that it runs, or the hung runner.
 */
import type { Socket } from 'node:net'
import { ParleyError } from '@parley/protocol'
import { abortable } from '../lib/index.ts'
import { connectRunner, type Place } from './runner/ipc/place.ts'
import { endForeignRunner } from './foreign-runner.ts'
import { endHungRunner } from './hung-runner.ts'
import { NotBegun, RunnerLink, type RequestBody } from './runner-link.ts'

export type AskOptions = {
  onChunk?: (stream: 'stdout' | 'stderr', data: Buffer) => void
  onOk?: (answer: unknown, link: RunnerLink) => void
  /** Output of a command before its answer, which has it once more. */
  onLive?: (text: string) => void
}

const ATTEMPTS = 5
/** Default milliseconds between signs of life; a runner without one for a minute is ended: a slow disk delays it, too. */
const HEARTBEAT_MS = 10_000

export type RunnerClientDeps = {
  /** User id that programs are to be started with; null or absent: that of the runner. A runner with another one gets a request to end. */
  runsAs?: number | null
  /** Starts a runner; resolves when one accepts connections. It is called again after NotBegun. */
  start: () => Promise<void>
  /** Milliseconds between two signs of life of the runner. */
  heartbeatMs?: number | undefined
  /** Called with each new connection, before its first request. */
  onConnect?: (link: RunnerLink) => Promise<void>
  /** Called when a hung runner was ended; null: it could not be found or ended. */
  onHung?: (pid: number | null) => void
}

export class RunnerClient implements AsyncDisposable {
  readonly #place: Place
  readonly #deps: RunnerClientDeps
  readonly #closing = new AbortController()
  #link: Promise<RunnerLink> | null = null
  /** The end of the last runner that hung. */
  #ending: Promise<'none' | 'ended' | 'failed'> = Promise.resolve('none')

  constructor(place: Place, deps: RunnerClientDeps) {
    this.#place = place
    this.#deps = deps
  }

  /**
   * Sends a request and resolves with its answer.
   * @throws ParleyError `unavailable` when the runner ended during the request; `conflict` when a newer owner has taken over.
   */
  async ask(body: RequestBody, signal: AbortSignal, { onOk, ...on }: AskOptions = {}): Promise<unknown> {
    for (let attempt = 1; ; attempt++) {
      signal.throwIfAborted()
      const link = await abortable(this.#connected(), signal)
      try {
        return await link.ask(body, signal, { ...on, onOk: (answer) => onOk?.(answer, link) })
      } catch (error) {
        // A runner that ends because it is idle has not begun the request; the next one will.
        if (!(error instanceof NotBegun) || attempt === ATTEMPTS) throw error
        // A connection that is being closed counts as the current one until then, and would refuse every attempt.
        await abortable(link.left, signal)
      }
    }
  }

  /** Connects in the background, and starts a runner when there is none; the next request repeats what fails. */
  connect(): void {
    this.#connected().catch(() => undefined)
  }

  /** Like `ask`, but starts no runner. Resolves with null when none is alive. */
  async askIfRunning(body: RequestBody, signal: AbortSignal): Promise<unknown> {
    for (let attempt = 1; ; attempt++) {
      signal.throwIfAborted()
      const link = await abortable(this.#link ?? this.#tryConnect(), signal)
      if (link === null) return null
      try {
        return await link.ask(body, signal)
      } catch (error) {
        if (!(error instanceof NotBegun) || attempt === ATTEMPTS) throw error
        await abortable(link.left, signal)
      }
    }
  }

  /** Sends a request without waiting for its answer, if there is a connection. */
  send(body: RequestBody): void {
    this.#link?.then((link) => link.send(body)).catch(() => undefined)
  }

  #connected(): Promise<RunnerLink> {
    if (this.#closing.signal.aborted) return Promise.reject(this.#closing.signal.reason as Error)
    return (this.#link ??= this.#keep(abortable(this.#connectOrStart(), this.#closing.signal)))
  }

  async #tryConnect(): Promise<RunnerLink | null> {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const socket = await this.#connect()
      if (socket === null) return null
      const link = await this.#greet(socket)
      if (link !== null) return this.#link === null ? this.#keep(Promise.resolve(link)) : link
    }
    return null
  }

  async #connectOrStart(): Promise<RunnerLink> {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const socket = await this.#connect()
      if (socket === null) {
        this.#closing.signal.throwIfAborted()
        await this.#deps.start().catch((error: unknown) => {
          if (!(error instanceof NotBegun) || attempt === ATTEMPTS) throw error
        })
        continue
      }
      // A runner that is ending closes the connection without a greeting.
      const link = await this.#greet(socket)
      if (link !== null) return link
    }
    throw new ParleyError('unavailable', 'no runner of commands could be reached')
  }

  async #connect(): Promise<Socket | null> {
    await this.#ending
    this.#ending = Promise.resolve('none')
    return connectRunner(this.#place)
  }

  /** Null when the runner is ending, or hangs and was ended. @throws ParleyError `unavailable` when it hangs and remains. */
  async #greet(socket: Socket): Promise<RunnerLink | null> {
    const { heartbeatMs = HEARTBEAT_MS } = this.#deps
    const onClosing = () => socket.destroy()
    this.#closing.signal.addEventListener('abort', onClosing, { once: true })
    if (this.#closing.signal.aborted) onClosing()
    const greeted = await RunnerLink.greet(socket, { heartbeatMs, onHung: () => this.#endHung() })
    this.#closing.signal.removeEventListener('abort', onClosing)
    if (greeted !== null && greeted.runsAs !== (this.#deps.runsAs ?? null)) {
      greeted.close()
      await endForeignRunner(this.#place, this.#deps.runsAs ?? null)
      return null
    }
    if (greeted === null && (await this.#ending) === 'failed')
      throw new ParleyError('unavailable', 'the runner of commands hangs and could not be ended; end it with SIGKILL')
    return greeted
  }

  #endHung(): void {
    this.#ending = endHungRunner(this.#place).then((pid) => {
      this.#deps.onHung?.(pid)
      return pid === null ? 'failed' : 'ended'
    })
  }

  #keep(connecting: Promise<RunnerLink>): Promise<RunnerLink> {
    const kept = connecting.then(async (link) => {
      try {
        await this.#deps.onConnect?.(link)
      } catch (error) {
        link.close()
        throw error
      }
      if (this.#closing.signal.aborted) link.close()
      return link
    })
    const forget = () => {
      if (this.#link === kept) this.#link = null
    }
    kept.then((link) => link.left.then(forget), forget)
    this.#link = kept
    return kept
  }

  /** Closes the connection; running processes continue. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new ParleyError('unavailable', 'the workspaces were closed'))
    const link = await this.#link?.catch(() => null)
    link?.close()
    await link?.closed
  }
}
