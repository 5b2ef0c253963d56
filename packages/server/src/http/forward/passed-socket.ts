/** Upgrade requests that another node has passed on: they are refused before the handshake when their conversation is not here. */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { laxConversationId } from '@parley/protocol'
import type { Log } from '../../observability/index.ts'
import { type Answer, toAnswer } from '../core/errors.ts'
import type { Forwarding } from './forwarding.ts'
import { HOP_REFUSED, NOT_OWNER } from './not-owner.ts'
import { upgradeUrl } from '../live/upgrade-url.ts'

/** False when the request has been answered. Never rejects. */
export async function takesSocket(
  request: IncomingMessage,
  socket: Duplex,
  forwarding: Forwarding,
  log: Log,
): Promise<boolean> {
  if (!forwarding.receive(request)) return refuse(socket, HOP_REFUSED)
  if (!forwarding.isPassedOn(request.headers)) return true
  // Without a listener a reset meanwhile would end the process.
  socket.on('error', () => socket.destroy())
  const id = idIn(request)
  try {
    if (id === undefined || (await forwarding.servedHere(id)) === 'here') return true
    return refuse(socket, NOT_OWNER)
  } catch (error) {
    return refuse(socket, toAnswer(error, log))
  }
}

function idIn(request: IncomingMessage) {
  const { pathname, searchParams } = upgradeUrl(request)
  const inPath = /^\/sockets\/(?:events|session)\/([^/]+)\/?$/.exec(pathname)?.[1]
  const read = laxConversationId().safeParse(inPath ?? searchParams.get('conversation_id'))
  return read.success ? read.data : undefined
}

function refuse(socket: Duplex, { status, body, headers = {} }: Answer): false {
  const text = JSON.stringify(body)
  const lines = Object.entries({ ...headers, connection: 'close', 'content-length': String(Buffer.byteLength(text)) })
  if (socket.writable)
    socket.end(
      `HTTP/1.1 ${status} Refused\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${text}`,
    )
  return false
}
