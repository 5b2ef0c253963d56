/** A WebSocket whose frames a test reads one by one. */
import { once } from 'node:events'
import { WebSocket } from 'ws'

/** Parsed JSON of a frame, without a type, so that tests can read any member. */
type Loose = ReturnType<typeof JSON.parse>

export type Socket = AsyncDisposable & {
  ws: WebSocket
  /** Resolves when the handshake was accepted; rejects with its status otherwise. */
  opened: Promise<void>
  closed: Promise<{ code: number; reason: string }>
  /** Every frame so far. */
  frames: Loose[]
  /** The next frame, in order of arrival, for which `holds` is true; frames before it are skipped. */
  next(holds?: (frame: Loose) => boolean): Promise<Loose>
  send(value: unknown): void
}

export function openSocket(url: string, headers: Record<string, string> = {}): Socket {
  const ws = new WebSocket(url, { headers })
  const frames: Loose[] = []
  let seen = 0
  let wake = Promise.withResolvers<void>()
  ws.on('message', (data: Buffer) => {
    frames.push(JSON.parse(data.toString()))
    wake.resolve()
    wake = Promise.withResolvers<void>()
  })
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    ws.on('close', (code, reason) => resolve({ code, reason: reason.toString() }))
  })
  const opened = new Promise<void>((resolve, reject) => {
    ws.once('open', () => resolve())
    ws.once('unexpected-response', (_request, response) => {
      reject(new Error(String(response.statusCode)))
      ws.terminate()
    })
    ws.on('error', () => {})
  })
  opened.catch(() => {})
  return {
    ws,
    opened,
    closed,
    frames,
    next: async (holds = () => true) => {
      for (;;) {
        while (seen < frames.length) {
          const frame = frames[seen++]
          if (holds(frame)) return frame
        }
        const ended = closed.then(({ code }) =>
          Promise.reject(new Error(`closed with ${code} while waiting for a frame`)),
        )
        await Promise.race([wake.promise, ended])
      }
    },
    send: (value) => ws.send(typeof value === 'string' ? value : JSON.stringify(value)),
    [Symbol.asyncDispose]: async () => {
      if (ws.readyState === WebSocket.CLOSED) return
      ws.terminate()
      await once(ws, 'close')
    },
  }
}
