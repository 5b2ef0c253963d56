/** One server's connection to the runner: frames in, frames out. */
import type { Socket } from 'node:net'
import { encodeFrame, FrameReader } from './frames.ts'
import type { Holder } from '../pipes.ts'
import type { Answer, Request, RunnerEvent } from './protocol.ts'
import type { Reply } from './reply.ts'

export type ConnectionEvents = {
  onRequest: (request: Request, connection: Connection) => void
  onClose: (connection: Connection) => void
  onBroken: (error: unknown) => void
}

export class Connection implements Holder {
  readonly #socket: Socket
  #lines: string[] = []
  #isWriteDue = false
  #drains: (() => void)[] = []
  /** Requests without an answer yet, by their number. */
  readonly waiting = new Map<number, Reply>()

  constructor(socket: Socket, { onRequest, onClose, onBroken }: ConnectionEvents) {
    this.#socket = socket
    const frames = new FrameReader()
    socket.on('data', (data: Buffer) => {
      try {
        for (const frame of frames.push(data)) onRequest(frame as Request, this)
      } catch (error) {
        onBroken(error)
        socket.destroy()
      }
    })
    socket.on('drain', () => {
      const drains = this.#drains
      this.#drains = []
      for (const drain of drains) drain()
    })
    socket.on('error', () => socket.destroy())
    socket.once('close', () => onClose(this))
  }

  send(frame: RunnerEvent | Answer, onDrain?: () => void): boolean {
    if (this.#socket.destroyed) return true
    this.#lines.push(encodeFrame(frame))
    if (!this.#isWriteDue) {
      // All frames of one turn of the event loop are sent in one write.
      this.#isWriteDue = true
      queueMicrotask(() => this.#write())
    }
    if (this.#socket.writableLength < this.#socket.writableHighWaterMark || onDrain === undefined) return true
    this.#drains.push(onDrain)
    return false
  }

  #write(): void {
    this.#isWriteDue = false
    const text = this.#lines.join('')
    this.#lines = []
    if (!this.#socket.destroyed) this.#socket.write(text)
  }

  /** The reply to request `id`. It is sent once; later calls have no effect. */
  reply(id: number, epoch: number, onEnd: () => void): Reply {
    let isOpen = true
    const close = (frame: Answer) => {
      if (!isOpen) return
      isOpen = false
      this.waiting.delete(id)
      this.send(frame)
      onEnd()
    }
    const reply: Reply = {
      epoch,
      get isOpen() {
        return isOpen
      },
      chunk: (stream, data) => {
        if (isOpen) this.send({ id, chunk: { stream, data: data.toString('base64') } })
      },
      live: (text) => {
        if (isOpen) this.send({ id, live: text })
      },
      ok: (answer) => close({ id, ok: answer }),
      refuse: (code, message, reason) =>
        close({ id, error: { code, message, ...(reason === undefined ? {} : { reason }) } }),
    }
    this.waiting.set(id, reply)
    return reply
  }

  end(): void {
    this.#write()
    this.#socket.end()
  }
}
