/**
 * Requests over streamable HTTP whose stream ends before the answer, because the server is gone. The library lets go of such a
 * stream without a word, so that a call would wait until its time is up.
 */
import type { JSONRPCMessage, Transport, TransportSendOptions } from '@modelcontextprotocol/client'

/** Calls `tell` when the stream of a request ends for good, after attempts to resume it, without having brought its answer. */
export function watchUnanswered(transport: Transport, tell: () => void): void {
  const waiting = new Set<unknown>()
  const send = transport.send.bind(transport)
  // The client adds its own to what is there.
  transport.onmessage = (message: JSONRPCMessage) => {
    if ('id' in message && !('method' in message)) waiting.delete(message.id)
  }
  transport.send = (message: JSONRPCMessage, options?: TransportSendOptions) => {
    const given = givenUp(message)
    if (given !== undefined) waiting.delete(given)
    if (!('method' in message) || !('id' in message)) return send(message, options)
    const { id } = message
    waiting.add(id)
    const onRequestStreamEnd = () => {
      options?.onRequestStreamEnd?.()
      if (waiting.delete(id)) tell()
    }
    return send(message, { ...options, onRequestStreamEnd }).catch((error: unknown) => {
      waiting.delete(id)
      throw error
    })
  }
}

/** The request that nobody waits for any more; its server may end the stream without an answer. */
function givenUp(message: JSONRPCMessage): unknown {
  if (!('method' in message) || message.method !== 'notifications/cancelled') return undefined
  return (message.params as { requestId?: unknown } | undefined)?.requestId
}
