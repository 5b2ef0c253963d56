/** `fetch` with a limit for one message of an untrusted server; a stream of many messages is not limited. */
import type { Fetch } from '../../egress/index.ts'

/** Bytes of one message, as over pipes. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024
/** The end of a message in an event stream. */
const BLANK_LINE = /\r?\n\r?\n|\r\r/

type FetchMessages = (url: string | URL, init?: RequestInit) => Promise<Response>

export function boundedFetch(fetch: Fetch, maxBytes = MAX_MESSAGE_BYTES): FetchMessages {
  return async (url, init) => {
    const answer = await fetch(url, init)
    if (answer.body === null || !answer.ok) return answer
    const { status, statusText, headers } = answer
    return new Response(answer.body.pipeThrough(limit(maxBytes)), { status, statusText, headers })
  }
}

/** Counts from the last blank line, so that it fits both kinds of responses. */
function limit(maxBytes: number): TransformStream<Uint8Array, Uint8Array> {
  let sinceBlank = 0
  let tail = ''
  return new TransformStream({
    transform(chunk, controller) {
      const text = tail + Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).toString('latin1')
      sinceBlank = BLANK_LINE.test(text) ? 0 : sinceBlank + chunk.byteLength
      tail = text.slice(-3)
      if (sinceBlank > maxBytes) controller.error(new Error(`a message is larger than ${maxBytes} bytes`))
      else controller.enqueue(chunk)
    },
  })
}
