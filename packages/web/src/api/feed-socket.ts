/** The socket of the feed. It is loaded after the page and shares nothing with the session socket, so that neither waits for the other. */
import { server } from './server.ts'

export type FeedSocketDeps = {
  /** The frame that asks for the feed. */
  request: () => unknown
  onFrame: (frame: Readonly<Record<string, unknown>>) => void
  /** The server has answered on a new connection. */
  onOpen: () => void
  /** The server refuses the token of this page. */
  onRefused: () => void
}

/** Milliseconds between attempts: at first, and at most. */
const FIRST_MS = 50
const MOST_MS = 5_000
/** A handshake and its first frame may take so long. */
const HANDSHAKE_MS = 5_000
const AUTHENTICATION_FAILED = 4001

export class FeedSocket {
  readonly #deps: FeedSocketDeps
  readonly #end = new AbortController()
  #socket: WebSocket | null = null
  #attempts = 0
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(deps: FeedSocketDeps) {
    this.#deps = deps
    const { signal } = this.#end
    const soon = (): void => {
      if (!document.hidden && this.#socket === null) this.reconnect()
    }
    addEventListener('online', soon, { signal })
    addEventListener('pageshow', soon, { signal })
    document.addEventListener('visibilitychange', soon, { signal })
    this.reconnect()
  }

  /** Connects at once, in place of the present connection. */
  reconnect(): void {
    const before = this.#socket
    this.#socket = null
    before?.close()
    clearTimeout(this.#timer)
    if (!this.#end.signal.aborted) this.#connect()
  }

  close(): void {
    this.#end.abort()
    this.reconnect()
  }

  #connect(): void {
    const socket = new WebSocket(server.socketUrl('/sockets/watch'))
    this.#socket = socket
    let isOpen = false
    const late = setTimeout(() => socket.close(), HANDSHAKE_MS)
    socket.addEventListener('open', () => {
      const token = server.token()
      if (token !== null) socket.send(JSON.stringify({ type: 'auth', session_api_key: token }))
      socket.send(JSON.stringify(this.#deps.request()))
    })
    socket.addEventListener('message', ({ data }: MessageEvent<string>) => {
      if (this.#socket !== socket) return
      if (!isOpen) {
        isOpen = true
        clearTimeout(late)
        this.#attempts = 0
        this.#deps.onOpen()
      }
      const frame = JSON.parse(data) as Readonly<Record<string, unknown>>
      // The server could not read the feed, and is asked again.
      if (frame['type'] === 'ended') socket.close()
      else this.#deps.onFrame(frame)
    })
    socket.addEventListener('close', ({ code }) => {
      clearTimeout(late)
      if (this.#socket !== socket) return
      this.#socket = null
      // A new session connects again.
      if (code === AUTHENTICATION_FAILED) return this.#deps.onRefused()
      const most = Math.min(MOST_MS, FIRST_MS * 2 ** this.#attempts++)
      this.#timer = setTimeout(() => this.reconnect(), most * (0.5 + Math.random() / 2))
    })
  }
}
