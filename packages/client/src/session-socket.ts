/** The session socket of a conversation: stored events, live pieces of answers, and output of commands. Connects again until it is aborted. */
import type { SessionFrame } from '@parley/protocol'
import { CallError } from './errors.ts'
import { backOffMs, sleep, type BackOff } from './wait.ts'

export type SessionSocket = {
  /** Address of the socket for events after `seq`. */
  url: (after: number) => string
  /** Sent in the first frame; absent for a server without keys. */
  apiKey: string | undefined
  /** Position after which the stream begins. */
  after: number
  backOff: BackOff
  /** Called with true when a connection is open, and with false when it is lost. */
  onConnection: ((isOpen: boolean) => void) | undefined
  signal: AbortSignal | undefined
}

const AUTHENTICATION_FAILED = 4001
const NOT_FOUND = 4004

/**
 * Yields stored events in the order of `seq`, each once, and live frames. Ends after a frame of type `refused`.
 * @throws CallError with status 401 for a refused key and 404 for a conversation that does not exist; the signal's reason when it aborts
 */
export async function* sessionFrames(options: SessionSocket): AsyncGenerator<SessionFrame> {
  const { backOff, onConnection, signal } = options
  let newest = options.after
  let failures = 0
  for (;;) {
    signal?.throwIfAborted()
    using connection = new SocketConnection(options.url(newest), options.apiKey, signal)
    let isOpen = false
    for await (const frame of connection.frames()) {
      if (!isOpen) onConnection?.(true)
      isOpen = true
      failures = 0
      if (frame.type === 'event') {
        if (frame.seq <= newest) continue
        newest = frame.seq
      }
      yield frame
      if (frame.type === 'refused') return
    }
    signal?.throwIfAborted()
    if (isOpen) onConnection?.(false)
    failures += 1
    const { code } = connection
    if (code === AUTHENTICATION_FAILED) throw new CallError('the key is missing or not valid', { status: 401 })
    if (code === NOT_FOUND) throw new CallError('there is no such conversation', { status: 404 })
    await sleep(backOffMs(backOff, failures), signal)
  }
}

/** One connection, as a queue of its frames. */
class SocketConnection implements Disposable {
  readonly #socket: WebSocket
  readonly #queue: SessionFrame[] = []
  readonly #signal: AbortSignal | undefined
  readonly #onAbort = () => this.#end(null)
  #isOver = false
  #wake: (() => void) | null = null
  /** The code of the close frame; null before it. */
  code: number | null = null

  constructor(url: string, apiKey: string | undefined, signal: AbortSignal | undefined) {
    this.#signal = signal
    this.#socket = new WebSocket(url)
    this.#socket.addEventListener('open', () => {
      if (apiKey !== undefined) this.#socket.send(JSON.stringify({ type: 'auth', session_api_key: apiKey }))
    })
    this.#socket.addEventListener('message', ({ data }: { data: unknown }) => {
      const frame = frameOf(data)
      if (frame === null) return
      this.#queue.push(frame)
      this.#woken()
    })
    this.#socket.addEventListener('close', ({ code }) => this.#end(code))
    // A close event follows.
    this.#socket.addEventListener('error', () => {})
    signal?.addEventListener('abort', this.#onAbort, { once: true })
  }

  async *frames(): AsyncGenerator<SessionFrame> {
    for (;;) {
      const frame = this.#queue.shift()
      if (frame !== undefined) yield frame
      else if (this.#isOver) return
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve
        })
    }
  }

  [Symbol.dispose](): void {
    this.#signal?.removeEventListener('abort', this.#onAbort)
    this.#socket.close()
  }

  #end(code: number | null): void {
    this.code ??= code
    this.#isOver = true
    this.#woken()
  }

  #woken(): void {
    this.#wake?.()
    this.#wake = null
  }
}

/** Null for data that is no frame. Frames of unknown types are passed on; readers ignore them. */
function frameOf(data: unknown): SessionFrame | null {
  if (typeof data !== 'string') return null
  const value = JSON.parse(data) as { type?: unknown } | null
  return typeof value?.type === 'string' ? (value as SessionFrame) : null
}
