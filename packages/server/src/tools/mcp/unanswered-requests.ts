/**
 * Detects requests over streamable HTTP whose stream ends before the response, because the server is gone. The library
 * drops
 * such a stream silently, so that a call would wait until its time is up.
 */
import type { JSONRPCMessage, Transport, TransportSendOptions } from '@modelcontextprotocol/client'

/** Calls `report` when the stream of a request ends for good, after attempts to resume it, without a response. */
export function onUnansweredRequest(transport: Transport, report: () => void): void {
  const waiting = new Set<unknown>()
  const send = transport.send.bind(transport)
  // The client adds its own handler to this one.
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
      if (waiting.delete(id)) report()
    }
    return send(message, { ...options, onRequestStreamEnd }).catch((error: unknown) => {
      waiting.delete(id)
      throw error
    })
  }
}

/** Returns the id of a cancelled request; its server may end the stream without a response. */
function givenUp(message: JSONRPCMessage): unknown {
  if (!('method' in message) || message.method !== 'notifications/cancelled') return undefined
  return (message.params as { requestId?: unknown } | undefined)?.requestId
}
