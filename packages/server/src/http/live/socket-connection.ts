/** One WebSocket for the rest of this folder: a writer, ordered frames, pings, and one way to close it. */
import type { Duplex } from 'node:stream'
import { type RawData, WebSocket } from 'ws'
import type { LiveConnection, LiveLimits } from './connections.ts'
import { Writer } from './writer.ts'

/** Time limit in milliseconds for the close frame of the peer. */
const GOODBYE_MS = 5000

type OnFrame = (data: Buffer, isBinary: boolean) => Promise<void>

/** The first frame of a socket; `failed`: it is late, binary or too large; `gone`: the socket ended before it. */
export type FirstFrame = Buffer | 'failed' | 'gone'

export class SocketConnection implements LiveConnection {
  readonly writer: Writer
  readonly closed: Promise<void>
  readonly #ws: WebSocket
  readonly #socket: Duplex
  readonly #limits: LiveLimits
  readonly #ended = new AbortController()
  #pingedAt = Date.now()
  #isPongDue = false
  #first: ((frame: FirstFrame) => void) | undefined
  /** Largest frame after the first one, in bytes. */
  readonly #frameLimitBytes: number
  #receive: OnFrame | undefined
  #early: { data: Buffer; isBinary: boolean }[] = []
  #work = Promise.resolve()

  /**
   * @param socket the stream under `ws`: encoded frames are written to it directly, combined into one write
   * @param frameLimitBytes the limit of frames once the key is known, which `ws` may not have yet
   */
  constructor(ws: WebSocket, socket: Duplex, limits: LiveLimits, frameLimitBytes: number) {
    this.#ws = ws
    this.#socket = socket
    this.#limits = limits
    this.#frameLimitBytes = frameLimitBytes
    this.writer = new Writer({
      // The sender of `ws` writes whole frames at once when nothing is compressed, so the two never interleave.
      write: (bytes, taken) => {
        if (ws.readyState === WebSocket.OPEN) socket.write(bytes, () => taken())
      },
    })
    this.closed = new Promise((resolve) => {
      ws.once('close', () => {
        this.#ended.abort(new Error('the socket was closed'))
        resolve()
      })
    })
    ws.on('error', () => {
      this.#first?.('failed')
      this.#ended.abort(new Error('the socket failed'))
      // `ws` has sent a close frame with the reason.
      this.#terminateLate()
    })
    ws.on('pong', () => {
      this.#isPongDue = false
    })
    ws.on('message', (data, isBinary) => this.#take(bufferOf(data), isBinary))
  }

  /** Aborts when nothing more can be sent. */
  get signal(): AbortSignal {
    return this.#ended.signal
  }

  /** The first frame within `ms` milliseconds. Afterwards nothing is read until {@link onFrame} or {@link refuse} is called. */
  async firstFrame(ms: number): Promise<FirstFrame> {
    const { promise, resolve } = Promise.withResolvers<FirstFrame>()
    const timer = setTimeout(() => resolve('failed'), ms)
    void this.closed.then(() => resolve('gone'))
    this.#first = resolve
    const frame = await promise
    this.#first = undefined
    clearTimeout(timer)
    return frame
  }

  /** Sends the reason to a client that is not admitted, and ends the socket; what it still sends is dropped. */
  refuse(reason: { code: number; reason: string }): void {
    this.close(reason)
    this.#socket.removeAllListeners('data')
    this.#socket.on('data', () => {})
    this.#socket.resume()
    this.#socket.end()
  }

  /** Calls `handle` for each later frame in order; frames that arrived earlier are included. */
  onFrame(receive: OnFrame): void {
    this.#receive = receive
    this.#ws.resume()
    const early = this.#early
    this.#early = []
    for (const { data, isBinary } of early) this.#take(data, isBinary)
  }

  beat(now: number): void {
    if (this.#ws.readyState !== WebSocket.OPEN) return
    const { pingMs, stallMs } = this.#limits
    const stalledMs = this.writer.stalledMs(now)
    if (stalledMs >= stallMs) return this.close({ code: 1013, reason: 'Too slow' })
    if (now - this.#pingedAt < pingMs) return
    // A ping would wait behind pending bytes; the peer is alive while it accepts them.
    if (this.#isPongDue && stalledMs === 0) return this.#ws.terminate()
    if (stalledMs > 0) return
    this.#pingedAt = now
    this.#isPongDue = true
    this.#ws.ping()
  }

  /** Sends the reason and closes soon afterwards, even without an answer of the peer. A second call has no effect. */
  close({ code, reason }: { code: number; reason: string }): void {
    if (this.#ended.signal.aborted) return
    this.#ended.abort(new Error(reason))
    this.#ws.close(code, reason)
    // The close frame of the peer must be read.
    this.#ws.resume()
    this.#terminateLate()
  }

  /** Ends the socket when the peer does not. */
  #terminateLate(): void {
    const late = setTimeout(() => this.#ws.terminate(), GOODBYE_MS)
    void this.closed.then(() => clearTimeout(late))
  }

  shutDown(): void {
    this.close({ code: 1012, reason: 'Service restart' })
  }

  destroy(): void {
    this.#ws.terminate()
  }

  /** Handles one frame at a time, in order. Meanwhile the socket is not read, so that a flood stays at its sender. */
  #take(data: Buffer, isBinary: boolean): void {
    if (this.#ended.signal.aborted) return
    const first = this.#first
    if (first !== undefined) {
      this.#first = undefined
      // A client may send its next frame in the same packet, whose header is read before its key is looked up.
      setFrameLimit(this.#ws, this.#frameLimitBytes)
      this.#ws.pause()
      return first(isBinary ? 'failed' : data)
    }
    const receive = this.#receive
    if (receive === undefined) {
      this.#early.push({ data, isBinary })
      this.#ws.pause()
      return
    }
    this.#ws.pause()
    this.#work = this.#work.then(() => receive(data, isBinary)).finally(() => this.#ws.resume())
  }
}

/** `ws` has no public way to change the limit of an open socket. Without this member the stricter limit stays. */
function setFrameLimit(ws: WebSocket, bytes: number): void {
  const { _receiver: receiver } = ws as unknown as { _receiver?: { _maxPayload?: number } }
  if (receiver?._maxPayload !== undefined) receiver._maxPayload = bytes
}

function bufferOf(data: RawData): Buffer {
  if (Array.isArray(data)) return Buffer.concat(data)
  return Buffer.isBuffer(data) ? data : Buffer.from(data)
}
