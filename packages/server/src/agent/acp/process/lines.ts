/** The lines of a program's output: protocol messages and other text. Source: agent-core.md 11.1, 11.3. */

/** Bytes of one line; a longer line ends the connection. */
const MAX_LINE_BYTES = 100 * 1024 * 1024

/** Calls `onLine` for each line of a stream, in order. @throws when a line is too long. */
export async function readLines(
  stream: ReadableStream<Uint8Array>,
  onLine: (line: string) => void,
  maxBytes = MAX_LINE_BYTES,
): Promise<void> {
  let parts: Buffer[] = []
  let size = 0
  for await (const chunk of stream) {
    let rest = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    for (let at = rest.indexOf(10); at !== -1; at = rest.indexOf(10)) {
      const line = Buffer.concat([...parts, rest.subarray(0, at)]).toString('utf8')
      parts = []
      size = 0
      rest = rest.subarray(at + 1)
      onLine(line)
    }
    if (rest.length === 0) continue
    size += rest.length
    if (size > maxBytes) throw new Error(`the agent wrote a line of more than ${maxBytes} bytes`)
    parts.push(rest)
  }
  if (parts.length > 0) onLine(Buffer.concat(parts).toString('utf8'))
}

export type Message = { jsonrpc: '2.0'; method?: string; id?: string | number | null; params?: unknown }

/** The message in a line; null for other text: banners, logs, JSON over several lines. */
export function messageIn(line: string): Message | null {
  const text = line.trim()
  if (!text.startsWith('{') || !text.includes('"jsonrpc"')) return null
  try {
    return JSON.parse(text) as Message
  } catch {
    // An incomplete message is not a message.
    return null
  }
}
