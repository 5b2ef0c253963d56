/** One connection to a runner, from its greeting to its end. */
import type { Socket } from 'node:net'
import { invalidInput, ParleyError } from '@parley/protocol'
import { Heartbeat } from './heartbeat.ts'
import { encodeFrame, FrameReader, MAX_FRAME_BYTES } from './runner/ipc/frames.ts'
import { notRecorded } from './not-recorded.ts'
import type { Answer, OutputStream, Request, RunnerEvent } from './runner/ipc/protocol.ts'

type WithoutId<T> = T extends { id: number } ? Omit<T, 'id'> : never
export type RequestBody = WithoutId<Request>

/** The runner ended before it began the request. */
export class NotBegun extends ParleyError {
  constructor() {
    super('unavailable', 'the runner of commands ended before it began this request')
  }
}

type Waiting = {
  resolve: (answer: unknown) => void
  reject: (error: Error) => void
  onChunk: ((stream: OutputStream, data: Buffer) => void) | undefined
  onOk: ((answer: unknown) => void) | undefined
  onLive: ((text: string) => void) | undefined
}

/** What a request gets besides its answer. */
export type AskListeners = Partial<Omit<Waiting, 'resolve' | 'reject'>>

type Listening = ProcessListener & { awaited: Set<OutputStream | 'exit'> }

export type ProcessListener = {
  onOutput: (stream: OutputStream, data: Buffer) => void
  onEnd: (stream: OutputStream) => void
  onExit: (exit: { exit_code: number | null; signal: string | null }) => void
  /** The connection has ended; no further event will arrive. */
  onLost: () => void
}

/** What one connection needs to notice a runner that hangs. */
export type Liveness = {
  /** Milliseconds between two signs of life. */
  heartbeatMs: number
  /** The runner has given no sign of life for six of these intervals; the connection is closed. */
  onHung: () => void
}

export class RunnerLink {
  /** Id of the runner's call ledger; undefined in version 0.1.0. */
  readonly ledger: string | undefined
  /** User id that the runner starts programs with; null: that of its own process. */
  readonly runsAs: number | null
  /** Resolves when no more requests are accepted: the runner sent `bye`, or the connection ended. */
  readonly left: Promise<void>
  /** Resolves when the connection has ended. */
  readonly closed: Promise<void>
  readonly #leave: () => void
  readonly #heartbeat: Heartbeat
  readonly #socket: Socket
  readonly #waiting = new Map<number, Waiting>()
  readonly #listeners = new Map<number, Listening>()
  #nextId = 1
  #hasLeft = false

  private constructor(
    socket: Socket,
    frames: FrameReader,
    hello: Extract<RunnerEvent, { event: 'hello' }>,
    { heartbeatMs, onHung }: Liveness,
  ) {
    this.#socket = socket
    const ping = () => this.send({ op: 'ping' })
    this.#heartbeat = new Heartbeat(heartbeatMs, () => this.#abandon(onHung), ping)
    this.ledger = hello.ledger
    this.runsAs = hello.runsAs ?? null
    socket.on('data', (data: Buffer) => {
      this.#heartbeat.heard()
      try {
        for (const frame of frames.push(data)) this.#onFrame(frame as Answer | RunnerEvent)
      } catch (error) {
        socket.destroy(error instanceof Error ? error : new Error(String(error)))
      }
    })
    const { promise, resolve } = Promise.withResolvers<void>()
    const leaving = Promise.withResolvers<void>()
    this.closed = promise
    this.left = leaving.promise
    this.#leave = leaving.resolve
    socket.once('close', () => {
      this.#heartbeat.stop()
      this.#leave()
      const lost = new ParleyError(
        'unavailable',
        'the runner of commands ended under this request; ask again with the same call id to learn what became of it',
      )
      this.#rejectAll(() => (this.#hasLeft ? new NotBegun() : lost))
      for (const listener of this.#listeners.values()) listener.onLost()
      this.#listeners.clear()
      resolve()
    })
    this.#unrefIfIdle()
  }

  /** Waits for the greeting; null when the connection ends without one, or the runner hangs. */
  static greet(socket: Socket, liveness: Liveness): Promise<RunnerLink | null> {
    const { promise, resolve } = Promise.withResolvers<RunnerLink | null>()
    const frames = new FrameReader()
    const silence = new Heartbeat(liveness.heartbeatMs, () => {
      liveness.onHung()
      socket.destroy()
    })
    silence.start()
    const onData = (data: Buffer) => {
      const [first, ...others] = frames.push(data) as RunnerEvent[]
      if (first?.event !== 'hello') return
      silence.stop()
      socket.off('data', onData)
      const link = new RunnerLink(socket, frames, first, liveness)
      for (const other of others) link.#onFrame(other)
      resolve(link)
    }
    socket.on('data', onData)
    socket.on('error', () => socket.destroy())
    socket.once('close', () => {
      silence.stop()
      resolve(null)
    })
    return promise
  }

  ask(body: RequestBody, signal: AbortSignal, { onChunk, onOk, onLive }: AskListeners = {}): Promise<unknown> {
    if (this.#hasLeft || this.#socket.destroyed) return Promise.reject(new NotBegun())
    const id = this.#nextId++
    const frame = encodeFrame({ id, ...body })
    if (frame.length >= MAX_FRAME_BYTES / 3 && Buffer.byteLength(frame) >= MAX_FRAME_BYTES) {
      return Promise.reject(
        new ParleyError('too_large', `a command with its input may have at most ${MAX_FRAME_BYTES} bytes`),
      )
    }
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    const onAbort = () => {
      this.#waiting.delete(id)
      this.#unrefIfIdle()
      this.send({ op: 'cancel', target: id })
      reject(signal.reason as Error)
    }
    const settle =
      <T>(how: (value: T) => void) =>
      (value: T) => {
        signal.removeEventListener('abort', onAbort)
        how(value)
      }
    signal.addEventListener('abort', onAbort, { once: true })
    this.#waiting.set(id, { resolve: settle(resolve), reject: settle(reject), onChunk, onOk, onLive })
    this.#socket.ref()
    this.#heartbeat.start()
    this.#socket.write(frame)
    return promise
  }

  /** Sends a request without waiting for its answer. */
  send(body: RequestBody): void {
    if (!this.#hasLeft && !this.#socket.destroyed) this.#socket.write(encodeFrame({ id: this.#nextId++, ...body }))
  }

  /** Registers the listener of a spawned process. Must be called before anything else is awaited. */
  listen(process: number, listener: ProcessListener): void {
    this.#listeners.set(process, { ...listener, awaited: new Set(['stdout', 'stderr', 'exit']) })
    this.#socket.ref()
    this.#heartbeat.start()
  }

  close(): void {
    this.#socket.destroy()
  }

  #onFrame(frame: Answer | RunnerEvent): void {
    if ('event' in frame) return this.#onEvent(frame)
    const waiting = this.#waiting.get(frame.id)
    if (waiting === undefined) return
    if ('chunk' in frame) return waiting.onChunk?.(frame.chunk.stream, Buffer.from(frame.chunk.data, 'base64'))
    if ('live' in frame) return waiting.onLive?.(frame.live)
    this.#waiting.delete(frame.id)
    this.#unrefIfIdle()
    if ('error' in frame) return waiting.reject(asError(frame.error))
    waiting.onOk?.(frame.ok)
    waiting.resolve(frame.ok)
  }

  #onEvent(frame: RunnerEvent): void {
    switch (frame.event) {
      case 'hello':
        return
      case 'bye':
        this.#hasLeft = true
        this.#leave()
        this.#rejectAll(() => new NotBegun())
        this.#socket.end()
        return
      case 'output':
        return this.#listeners.get(frame.process)?.onOutput(frame.stream, Buffer.from(frame.data, 'base64'))
      case 'end':
        this.#listeners.get(frame.process)?.onEnd(frame.stream)
        return this.#noteEnd(frame.process, frame.stream)
      case 'exit':
        this.#listeners.get(frame.process)?.onExit(frame)
        return this.#noteEnd(frame.process, 'exit')
      default:
        frame satisfies never
    }
  }

  /** Nothing follows the exit of a process and the end of both of its streams. */
  #noteEnd(process: number, of: OutputStream | 'exit'): void {
    const awaited = this.#listeners.get(process)?.awaited
    awaited?.delete(of)
    if (awaited?.size !== 0) return
    this.#listeners.delete(process)
    this.#unrefIfIdle()
  }

  #rejectAll(reason: () => Error): void {
    for (const [id, waiting] of this.#waiting) {
      this.#waiting.delete(id)
      waiting.reject(reason())
    }
  }

  /** An idle connection keeps neither the server's process alive, nor the runner, which ends when it has nothing to do. */
  #unrefIfIdle(): void {
    if (this.#waiting.size > 0 || this.#listeners.size > 0) return
    this.#socket.unref()
    this.#heartbeat.stop()
  }

  #abandon(onHung: () => void): void {
    // A runner that continues later must not begin what is given up here.
    for (const target of this.#waiting.keys()) this.send({ op: 'cancel', target })
    onHung()
    this.#socket.destroy()
  }
}

function asError({ code, message, reason }: Extract<Answer, { error: unknown }>['error']): Error {
  if (reason !== undefined) return notRecorded(message)
  switch (code) {
    case 'stale_epoch':
    case 'unknown_outcome':
      return new ParleyError('conflict', message, { details: { reason: code } })
    case 'unavailable':
      return new ParleyError(code, message)
    case 'invalid_input':
      return invalidInput(message)
    case 'internal':
      return new Error(`the runner failed: ${message}`)
    default:
      return code satisfies never
  }
}
