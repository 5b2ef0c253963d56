/** Parser of server-sent events: bytes in, frames out. Buffers only the unfinished frame. */

import { CallError } from './errors.ts'

export type SseFrame = { event: string; data: string; id: string | null }

/**
 * Yields the frames of a response body. Ends with the body; an incomplete last frame is dropped.
 * @throws CallError without a status when the connection breaks.
 */
export async function* readFrames(
  body: ReadableStream<Uint8Array>,
  onBytes: () => void = () => {},
): AsyncGenerator<SseFrame> {
  const parser = new SseParser()
  const decoder = new TextDecoder()
  const reader = body.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((cause: unknown) => {
        throw new CallError('the connection broke', { status: null, cause })
      })
      if (done) return
      onBytes()
      yield* parser.push(decoder.decode(value, { stream: true }))
    }
  } finally {
    // An early end of the loop closes the connection; a failed body has nothing to cancel.
    await reader.cancel().catch(() => {})
  }
}

/** Incremental parser: text may be split anywhere. */
export class SseParser {
  #rest = ''
  #data: string[] = []
  #event = ''
  #id: string | null = null

  push(text: string): SseFrame[] {
    // A long line arrives in many pieces; scanning all of it again for each would take quadratic time.
    if (this.#rest !== '' && !this.#rest.endsWith('\r') && !/[\r\n]/.test(text)) {
      this.#rest += text
      return []
    }
    const frames: SseFrame[] = []
    const lines = (this.#rest + text).split(/\r\n|\n|\r(?!$)/)
    this.#rest = lines.pop()!
    for (const line of lines) {
      const frame = line === '' ? this.#end() : this.#field(line)
      if (frame !== null) frames.push(frame)
    }
    return frames
  }

  #field(line: string): null {
    const colon = line.indexOf(':')
    const name = colon === -1 ? line : line.slice(0, colon)
    const value = colon === -1 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)
    if (name === 'data') this.#data.push(value)
    if (name === 'event') this.#event = value
    if (name === 'id') this.#id = value
    return null
  }

  #end(): SseFrame | null {
    const frame = { event: this.#event === '' ? 'message' : this.#event, data: this.#data.join('\n'), id: this.#id }
    const isEmpty = this.#data.length === 0
    this.#data = []
    this.#event = ''
    this.#id = null
    return isEmpty ? null : frame
  }
}
