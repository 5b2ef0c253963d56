/** Events over plain HTTP: `GET /api/conversations/{id}/events/stream`. The id of an event is its `seq`. */
import type { ServerResponse } from 'node:http'
import { ParleyError } from '@parley/protocol'
import type { Watcher } from '../../conversation/index.ts'
import type { Log } from '../../observability/index.ts'
import type { Connections, LiveConnection, LiveLimits } from './connections.ts'
import { encodeSse, refused, sse } from './encode.ts'
import { Writer } from './writer.ts'

const PING = Buffer.from(': ping\n\n')

/** The `seq` to resume after: the header of a reconnecting reader takes precedence over the query. */
export function resumeAfter(lastEventId: string | string[] | undefined, afterSeq: number | undefined): number {
  const header = typeof lastEventId === 'string' && /^\d{1,15}$/.test(lastEventId) ? Number(lastEventId) : undefined
  return header ?? afterSeq ?? 0
}

export type SseDeps = {
  watcher: Watcher
  /** Ends the watcher when the reader disconnects. */
  ended: AbortController
  connections: Connections
  /** Released when the reader disconnects. */
  place: Disposable
  /** Registers the connection, so that it can be ended. */
  guard: (end: () => void, closed: Promise<void>) => void
  log: Log
}

/** Writes the items of `watcher` until the conversation is deleted or the reader disconnects. */
export function streamTo(response: ServerResponse, headers: Record<string, string>, parts: SseDeps): void {
  const { watcher, ended, connections, place, guard, log } = parts
  const connection = new SseConnection(response, ended, connections.limits)
  void connection.closed.then(async () => {
    place[Symbol.dispose]()
    await watcher[Symbol.asyncDispose]()
  })
  connections.add(connection)
  guard(() => connection.shutDown(), connection.closed)
  response.writeHead(200, { ...headers, 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' })
  connection.writer.pump(watcher, encodeSse, ended.signal).then(
    () => response.end(sse('refused', refused('Conversation not found'))),
    (error: unknown) => {
      if (ended.signal.aborted) return
      // The reader connects again, and resumes after its last event.
      if (error instanceof ParleyError) return void response.end()
      log.error({ err: error }, 'event stream failed unexpectedly')
      response.destroy()
    },
  )
}

class SseConnection implements LiveConnection {
  readonly writer: Writer
  readonly closed: Promise<void>
  readonly #response: ServerResponse
  readonly #limits: LiveLimits
  #pingedAt = Date.now()

  constructor(response: ServerResponse, ended: AbortController, limits: LiveLimits) {
    this.#response = response
    this.#limits = limits
    this.writer = new Writer({
      write: (bytes, taken) => {
        if (!response.destroyed && !response.writableEnded) response.write(bytes, () => taken())
      },
    })
    this.closed = new Promise((resolve) => {
      const close = () => {
        ended.abort(new Error('the reader went away'))
        resolve()
      }
      if (response.destroyed) close()
      else response.once('close', close)
    })
  }

  beat(now: number): void {
    const stalledMs = this.writer.stalledMs(now)
    if (stalledMs >= this.#limits.stallMs) return this.destroy()
    if (stalledMs > 0 || now - this.#pingedAt < this.#limits.pingMs) return
    this.#pingedAt = now
    this.writer.write([PING])
  }

  shutDown(): void {
    this.#response.end()
  }

  destroy(): void {
    this.#response.destroy()
  }
}
