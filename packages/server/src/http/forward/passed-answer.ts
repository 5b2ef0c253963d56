/** The answer of another node, as it arrives there. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Connections, LiveConnection } from '../live/connections.ts'
import { passedOn } from './request-to-node.ts'

/**
 * Sends the answer of another node to the client of this one, at the pace of the client.
 * @param own headers of this node, which take precedence
 */
export function sendAnswer(
  answer: IncomingMessage,
  response: ServerResponse,
  own: Record<string, string>,
  connections: Connections,
): void {
  const isStream = answer.headers['content-type']?.startsWith('text/event-stream') === true
  response.once('close', () => answer.destroy())
  // A reader of events connects again and resumes; any other answer would be incomplete.
  answer.once('error', () => (isStream ? response.end() : response.destroy()))
  response.writeHead(answer.statusCode ?? 502, { ...passedOn(answer.headers), ...own })
  answer.pipe(response)
  if (isStream) {
    response.flushHeaders()
    connections.add(new PassedStream(response))
  }
}

/** An event stream of another node. Its pings and its pace are those of the owner. */
class PassedStream implements LiveConnection {
  readonly closed: Promise<void>
  readonly #response: ServerResponse

  constructor(response: ServerResponse) {
    this.#response = response
    this.closed = new Promise((resolve) => {
      if (response.destroyed) resolve()
      else response.once('close', () => resolve())
    })
  }

  beat(): void {}

  shutDown(): void {
    this.#response.end()
  }

  destroy(): void {
    this.#response.destroy()
  }
}
