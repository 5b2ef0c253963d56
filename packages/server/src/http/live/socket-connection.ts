/** One WebSocket for the rest of this folder: a writer, ordered frames, pings, and one way to close it. */
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type RawData, WebSocket } from 'ws'
import type { LiveConnection, LiveLimits } from './connections.ts'
import { Writer } from './writer.ts'

/** Time limit in milliseconds for the close frame of the peer. */
const GOODBYE_MS = 5000

type OnFrame = (data: Buffer, isBinary: boolean) => Promise<void>

export class SocketConnection implements LiveConnection {
  readonly writer: Writer
  readonly closed: Promise<void>
  readonly peerAddress: string | undefined
  readonly #ws: WebSocket
  readonly #limits: LiveLimits
  readonly #ended = new AbortController()
  #pingedAt = Date.now()
  #isPongDue = false
  #first: ((data: Buffer, isBinary: boolean) => void) | undefined
  #receive: OnFrame | undefined
  #early: { data: Buffer; isBinary: boolean }[] = []
  #work = Promise.resolve()

  /** @param socket the stream under `ws`: encoded frames are written to it directly, combined into one write. */
  constructor(ws: WebSocket, socket: Duplex, limits: LiveLimits) {
    this.#ws = ws
    this.#limits = limits
    this.peerAddress = (socket as Partial<Socket>).remoteAddress
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
    ws.on('error', () => ws.terminate())
    ws.on('pong', () => {
      this.#isPongDue = false
    })
    ws.on('message', (data, isBinary) => this.#take(bufferOf(data), isBinary))
  }

  /** Aborts when nothing more can be sent. */
  get signal(): AbortSignal {
    return this.#ended.signal
  }

  /** The first text frame within `ms` milliseconds; null when it is late, binary, or the socket ends. */
  async nextFrame(ms: number): Promise<string | null> {
    const { promise, resolve } = Promise.withResolvers<string | null>()
    const timer = setTimeout(() => resolve(null), ms)
    void this.closed.then(() => resolve(null))
    this.#first = (data, isBinary) => resolve(isBinary ? null : data.toString('utf8'))
    const frame = await promise
    clearTimeout(timer)
    return frame
  }

  /** Calls `handle` for each later frame in order; frames that arrived earlier are included. */
  onFrame(receive: OnFrame): void {
    this.#receive = receive
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
    const first = this.#first
    if (first !== undefined) {
      this.#first = undefined
      return first(data, isBinary)
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

function bufferOf(data: RawData): Buffer {
  if (Array.isArray(data)) return Buffer.concat(data)
  return Buffer.isBuffer(data) ? data : Buffer.from(data)
}
