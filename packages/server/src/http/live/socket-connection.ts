/** One WebSocket as the rest of this folder sees it: a writer, frames in order, pings, and one way to end. */
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type RawData, WebSocket } from 'ws'
import type { LiveConnection, LiveLimits } from './connections.ts'
import { Writer } from './writer.ts'

/** How long a peer that is told to go may take to say goodbye. */
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

  /** @param socket the stream under `ws`: prebuilt frames go to it directly, joined into one write. */
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

  /** Aborted as soon as nothing more can be sent. */
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

  /** Every later frame, one after the other; those that came before are not lost. */
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
    // Behind bytes that wait to be taken a ping would only wait too; taking them is a sign of life.
    if (this.#isPongDue && stalledMs === 0) return this.#ws.terminate()
    if (stalledMs > 0) return
    this.#pingedAt = now
    this.#isPongDue = true
    this.#ws.ping()
  }

  /** Says why, and is gone shortly afterwards even when the peer does not answer. Does nothing the second time. */
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

  /** One frame at a time, in order; the socket is not read further meanwhile, so a flood waits at its sender. */
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
