/**
 * Client of the runner: connects on the first request, starts a runner when there is none, and reconnects after the connection
 * has ended. A request in progress then fails with `unavailable`; a repeated request with the same call id attaches to the
 * process and starts nothing twice.
 */
import { ParleyError } from '@parley/protocol'
import { abortable } from '../lib/index.ts'
import { connectRunner, type Place } from './runner/ipc/place.ts'
import { PROTOCOL } from './runner/ipc/protocol.ts'
import { NotBegun, RunnerLink, type RequestBody } from './runner-link.ts'

export type AskOptions = {
  onChunk?: (stream: 'stdout' | 'stderr', data: Buffer) => void
  onOk?: (answer: unknown, link: RunnerLink) => void
}

const ATTEMPTS = 5

export class RunnerClient implements AsyncDisposable {
  readonly #place: Place
  readonly #start: () => Promise<void>
  #link: Promise<RunnerLink> | null = null
  #isDisposed = false

  constructor(place: Place, start: () => Promise<void>) {
    this.#place = place
    this.#start = start
  }

  /**
   * Sends a request and resolves with its answer.
   * @throws ParleyError `unavailable` when the runner ended during the request; `conflict` when a newer owner has taken over.
   */
  async ask(body: RequestBody, signal: AbortSignal, { onChunk, onOk }: AskOptions = {}): Promise<unknown> {
    for (let attempt = 1; ; attempt++) {
      signal.throwIfAborted()
      const link = await abortable(this.#connected(), signal)
      try {
        return await link.ask(body, signal, onChunk, (answer) => onOk?.(answer, link))
      } catch (error) {
        // A runner that ends because it is idle has not begun the request; the next one will.
        if (!(error instanceof NotBegun) || attempt === ATTEMPTS) throw error
      }
    }
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
      }
    }
  }

  /** Sends a request without waiting for its answer, if there is a connection. */
  send(body: RequestBody): void {
    this.#link?.then((link) => link.send(body)).catch(() => undefined)
  }

  #connected(): Promise<RunnerLink> {
    if (this.#isDisposed) return Promise.reject(new ParleyError('unavailable', 'the workspaces were closed'))
    return (this.#link ??= this.#keep(this.#connectOrStart()))
  }

  async #tryConnect(): Promise<RunnerLink | null> {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const socket = await connectRunner(this.#place)
      if (socket === null) return null
      const link = await RunnerLink.greet(socket)
      if (link !== null) return this.#link === null ? this.#keep(Promise.resolve(link)) : link
    }
    return null
  }

  async #connectOrStart(): Promise<RunnerLink> {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const socket = await connectRunner(this.#place)
      if (socket === null) {
        await this.#start()
        continue
      }
      // A runner that is ending closes the connection without a greeting.
      const link = await RunnerLink.greet(socket)
      if (link !== null) return link
    }
    throw new ParleyError('unavailable', 'no runner of commands could be reached')
  }

  #keep(connecting: Promise<RunnerLink>): Promise<RunnerLink> {
    const kept = connecting.then((link) => {
      if (link.protocol !== PROTOCOL) {
        link.close()
        throw new ParleyError(
          'unavailable',
          `the runner with pid ${link.pid} is of another version (${link.protocol}, not ${PROTOCOL}); end it with SIGTERM`,
        )
      }
      if (this.#isDisposed) link.close()
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
    this.#isDisposed = true
    const link = await this.#link?.catch(() => null)
    link?.close()
    await link?.closed
  }
}
