/** The browser's debugging protocol over its pipes: JSON messages, each ended by NUL. No port is opened. */
import { setImmediate as nextTask } from 'node:timers/promises'
import type { ConnectOverCDPTransport } from 'playwright-core'
import type { Process } from '../../workspace/index.ts'

const NUL = 0

/** Transport over a process whose debugging pipe is standard input and output. */
export function pipeTransport(process: Process): ConnectOverCDPTransport {
  const writer = process.stdin.getWriter()
  const encoder = new TextEncoder()
  let isClosed = false
  const transport: ConnectOverCDPTransport = {
    send(message) {
      // A write to a browser that ended is ignored; the end of its output reports the end.
      writer.write(encoder.encode(`${JSON.stringify(message)}\0`)).catch(() => undefined)
    },
    close() {
      if (isClosed) return
      isClosed = true
      writer.close().catch(() => undefined)
      transport.onclose?.()
    },
  }
  const end = () => {
    if (isClosed) return
    isClosed = true
    transport.onclose?.('the browser has ended')
  }
  readMessages(process.stdout, (message) => transport.onmessage?.(message)).then(end, end)
  return transport
}

/**
 * Calls back with each message until the stream ends. Every message gets a task of its own: the reader subscribes to events after it
 * has awaited an answer, and would miss an event that is delivered in the same task as the answer.
 */
async function readMessages(stream: ReadableStream<Uint8Array>, onMessage: (message: object) => void): Promise<void> {
  let parts: Uint8Array[] = []
  for await (const chunk of stream) {
    let from = 0
    for (let at = chunk.indexOf(NUL); at !== -1; at = chunk.indexOf(NUL, from)) {
      const text = Buffer.concat([...parts, chunk.subarray(from, at)]).toString('utf8')
      parts = []
      from = at + 1
      onMessage(JSON.parse(text) as object)
      await nextTask()
    }
    if (from < chunk.length) parts.push(chunk.subarray(from))
  }
}
