/** The browser's own protocol over its pipes: JSON, each message closed by NUL. No port is opened that others could speak to. */
import type { ConnectOverCDPTransport } from 'playwright-core'
import type { Process } from '../../workspace/index.ts'

const NUL = 0

/** A transport over a process that was started with its debugging pipe at standard input and output. */
export function pipeTransport(process: Process): ConnectOverCDPTransport {
  const writer = process.stdin.getWriter()
  const encoder = new TextEncoder()
  let isClosed = false
  const transport: ConnectOverCDPTransport = {
    send(message) {
      // A browser that has ended takes nothing more; its end is told by its output.
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

/** Calls back with each message until the stream ends. */
export async function readMessages(
  stream: ReadableStream<Uint8Array>,
  onMessage: (message: object) => void,
): Promise<void> {
  let parts: Uint8Array[] = []
  for await (const chunk of stream) {
    let from = 0
    for (let at = chunk.indexOf(NUL); at !== -1; at = chunk.indexOf(NUL, from)) {
      const text = Buffer.concat([...parts, chunk.subarray(from, at)]).toString('utf8')
      parts = []
      from = at + 1
      onMessage(JSON.parse(text) as object)
    }
    if (from < chunk.length) parts.push(chunk.subarray(from))
  }
}
