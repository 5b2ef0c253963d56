/** The session socket of one conversation: it resumes after the last `seq`, and connects again until it is closed. */
import { delayOf } from './delay.ts'

export type ConnectionState =
  /** `since`: milliseconds since 1970. */
  | { status: 'connecting'; since: number }
  | { status: 'open' }
  /** The next attempt is at `retryAt`. */
  | { status: 'waiting'; since: number; retryAt: number }
  /** The server wants a login. */
  | { status: 'refused' }
  /** There is no such conversation. */
  | { status: 'gone' }

export type ConnectionDeps = {
  /** Address of the socket for events after `seq`. */
  url: (afterSeq: number) => string
  token: () => string | null
  lastSeq: () => number
  /** Takes all frames since the last call, in order. */
  onFrames: (frames: readonly unknown[]) => void
  onState: (state: ConnectionState) => void
}

/** A handshake may take so long. */
const HANDSHAKE_MS = 5000
/** A connection without any frame for so long counts as dead when it is used again, or while a run is expected to send. */
const SILENCE_MS = 60_000
/** Interval in which frames are applied while the page is hidden and draws no frames. */
const HIDDEN_FLUSH_MS = 250
const AUTHENTICATION_FAILED = 4001
const NOT_FOUND = 4004

export class Connection {
  readonly #deps: ConnectionDeps
  readonly #end = new AbortController()
  #socket: WebSocket | null = null
  #attempts = 0
  #since = Date.now()
  #heardAt = Date.now()
  #timer: ReturnType<typeof setTimeout> | undefined
  #queue: unknown[] = []
  #isFlushing = false
  #state: ConnectionState = { status: 'connecting', since: Date.now() }

  constructor(deps: ConnectionDeps) {
    this.#deps = deps
    const { signal } = this.#end
    const soon = () => this.#wake()
    addEventListener('online', soon, { signal })
    addEventListener('pageshow', soon, { signal })
    document.addEventListener('visibilitychange', soon, { signal })
    const check = setInterval(() => {
      if (!document.hidden && this.#queue.length === 0) this.#replaceSilent()
    }, SILENCE_MS / 4)
    signal.addEventListener('abort', () => clearInterval(check))
    this.#connect()
  }

  /** True while a run should send something, so that silence means a dead connection. */
  expectsFrames = false

  get state(): ConnectionState {
    return this.#state
  }

  /** Connects at once instead of at the next attempt. */
  retryNow(): void {
    if (this.#state.status === 'open' || this.#end.signal.aborted) return
    clearTimeout(this.#timer)
    this.#drop()
    this.#attempts = 0
    this.#connect()
  }

  close(): void {
    this.#end.abort()
    clearTimeout(this.#timer)
    this.#drop()
  }

  #wake(): void {
    if (document.hidden) return
    if (this.#state.status === 'open') return this.#isSilent() ? this.#reconnect() : undefined
    if (this.#state.status === 'waiting') this.retryNow()
  }

  #isSilent = () => Date.now() - this.#heardAt > SILENCE_MS

  #replaceSilent(): void {
    if (this.expectsFrames && this.#state.status === 'open' && this.#isSilent()) this.#reconnect()
  }

  #reconnect(): void {
    this.#since = Date.now()
    this.#attempts = 0
    this.#drop()
    this.#connect()
  }

  #drop(): void {
    const socket = this.#socket
    this.#socket = null
    socket?.close()
  }

  #connect(): void {
    this.#flush()
    this.#setState({ status: 'connecting', since: this.#since })
    const socket = new WebSocket(this.#deps.url(this.#deps.lastSeq()))
    this.#socket = socket
    const late = setTimeout(() => socket.close(), HANDSHAKE_MS)
    const isCurrent = () => this.#socket === socket
    socket.addEventListener('open', () => {
      clearTimeout(late)
      const token = this.#deps.token()
      if (token !== null) socket.send(JSON.stringify({ type: 'auth', session_api_key: token }))
    })
    socket.addEventListener('message', ({ data }: MessageEvent<unknown>) => {
      if (isCurrent()) this.#hear(data)
    })
    socket.addEventListener('close', ({ code }) => {
      clearTimeout(late)
      if (!isCurrent()) return
      this.#socket = null
      this.#flush()
      this.#ended(code)
    })
  }

  #hear(data: unknown): void {
    this.#heardAt = Date.now()
    this.#attempts = 0
    const frame = parsed(data)
    if (frame === undefined) return
    if (this.#state.status !== 'open') this.#setState({ status: 'open' })
    this.#queue.push(frame)
    if (this.#isFlushing) return
    this.#isFlushing = true
    if (document.hidden) setTimeout(() => this.#flush(), HIDDEN_FLUSH_MS)
    else requestAnimationFrame(() => this.#flush())
  }

  #flush(): void {
    this.#isFlushing = false
    if (this.#queue.length === 0) return
    const frames = this.#queue
    this.#queue = []
    this.#deps.onFrames(frames)
  }

  #ended(code: number): void {
    if (code === AUTHENTICATION_FAILED) return this.#setState({ status: 'refused' })
    if (code === NOT_FOUND) return this.#setState({ status: 'gone' })
    if (this.#state.status === 'open') this.#since = Date.now()
    const delay = delayOf(this.#attempts++, Math.random())
    this.#setState({ status: 'waiting', since: this.#since, retryAt: Date.now() + delay })
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#connect(), delay)
  }

  #setState(state: ConnectionState): void {
    if (this.#end.signal.aborted) return
    this.#state = state
    this.#deps.onState(state)
  }
}

function parsed(data: unknown): unknown {
  if (typeof data !== 'string') return undefined
  try {
    return JSON.parse(data)
  } catch {
    return undefined
  }
}
