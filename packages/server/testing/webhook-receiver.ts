/**
 * A webhook receiver for tests: an HTTP server whose address stays the same while it is down. It accepts each delivery once, by
 * its id, verifies the signature as the Standard Webhooks specification says, and records deliveries that are out of order.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import { search } from './canaries/watch.ts'
import { freePort } from './free-port.ts'

export type ReceivedRequest = {
  /** Path below the base address: `/conversations` or `/events/<32 hex digits>`. */
  path: string
  headers: IncomingHttpHeaders
  /** The raw body. */
  text: string
  body: any
}

/** Returns the reply to a request; undefined: the receiver accepts it with status 200. */
export type ReceiverBehaviour = (
  request: ReceivedRequest,
  attempt: number,
) => ReceiverReply | undefined | Promise<ReceiverReply | undefined>
/** `hang`: no reply. `isAccepted`: the receiver accepts the delivery although it replies with an error. */
export type ReceiverReply = { status: number; headers?: Record<string, string>; isAccepted?: boolean } | 'hang'

export type WebhookReceiverOptions = {
  /** Requests with another signature are refused with 401. */
  secret?: string
  behave?: ReceiverBehaviour
}

export interface WebhookReceiver extends AsyncDisposable {
  /** The `base_url` of a target. */
  readonly url: string
  /** Accepted deliveries, each once, in order of arrival. */
  readonly accepted: readonly ReceivedRequest[]
  /** All requests, including repeated and refused ones. */
  readonly attempts: readonly ReceivedRequest[]
  /** Errors of the sender: wrong signatures and deliveries out of order. */
  readonly faults: readonly string[]
  behave: ReceiverBehaviour
  up(): Promise<void>
  /** Closes the port and all connections. */
  down(): Promise<void>
  /** Accepted deliveries about one conversation, in order of arrival. */
  about(id: string): readonly ReceivedRequest[]
}

export async function startWebhookReceiver(options: WebhookReceiverOptions = {}): Promise<WebhookReceiver> {
  const port = await freePort()
  const accepted: ReceivedRequest[] = []
  const attempts: ReceivedRequest[] = []
  const faults: string[] = []
  const ids = new Set<string>()
  const tries = new Map<string, number>()
  const lanes = new Map<string, ReceivedRequest>()
  let server: Server | null = null

  function accept(request: ReceivedRequest): void {
    const id = String(request.headers['webhook-id'])
    if (ids.has(id)) return
    ids.add(id)
    // It has no number of its own.
    if (request.path === '/waiting') return void accepted.push(request)
    const isBatch = request.path !== '/conversations'
    const lane = isBatch ? request.path : `${request.path} ${request.body.id}`
    const before = lanes.get(lane)
    lanes.set(lane, request)
    const [sequence, last] = [sequenceOf(request), before === undefined ? 0 : lastOf(before)]
    if (sequence !== last + 1) faults.push(`${lane}: ${sequence} came after ${last}`)
    accepted.push(request)
  }

  async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = await readAll(incoming)
    search('a webhook', text)
    const request = { path: incoming.url ?? '/', headers: incoming.headers, text, body: JSON.parse(text) }
    attempts.push(request)
    if (options.secret !== undefined && !isSigned(request, options.secret)) {
      faults.push(`wrong signature of ${request.path}`)
      return void response.writeHead(401).end('{"detail":"Unauthorized"}')
    }
    const id = String(request.headers['webhook-id'])
    const attempt = (tries.get(id) ?? 0) + 1
    tries.set(id, attempt)
    const reply = await receiver.behave(request, attempt)
    if (reply === 'hang') return
    // A receiver may store a delivery and then fail to acknowledge it.
    if (reply === undefined || reply.isAccepted === true) accept(request)
    const { status, headers } = reply ?? { status: 200 }
    response.writeHead(status, headers).end(status === 200 ? '{"success":true}' : '{"detail":"not now"}')
  }

  const receiver: WebhookReceiver = {
    url: `http://127.0.0.1:${port}`,
    accepted,
    attempts,
    faults,
    behave: options.behave ?? (() => undefined),
    about: (id) =>
      accepted.filter(({ path, body }) =>
        path === '/conversations' ? body.id === id : path.endsWith(id.replaceAll('-', '')),
      ),
    async up() {
      if (server !== null) return
      server = createServer((incoming, response) => void answer(incoming, response).catch(() => response.destroy()))
      server.listen(port, '127.0.0.1')
      await once(server, 'listening')
    },
    async down() {
      if (server === null) return
      const closing = server
      server = null
      closing.close()
      closing.closeAllConnections()
      await once(closing, 'close')
    },
    [Symbol.asyncDispose]: () => receiver.down(),
  }
  await receiver.up()
  return receiver
}

const sequenceOf = ({ headers }: ReceivedRequest): number => Number(headers['x-parley-sequence'])
const lastOf = (request: ReceivedRequest): number =>
  Array.isArray(request.body) ? sequenceOf(request) + request.body.length - 1 : sequenceOf(request)

/** True when one of the `v1` signatures is the base64 HMAC-SHA256 of `id.timestamp.body` under the key after `whsec_`. */
function isSigned({ headers, text }: ReceivedRequest, secret: string): boolean {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures } = headers
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > 300) return false
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const expected = createHmac('sha256', key)
    .update(`${String(id)}.${String(timestamp)}.${text}`, 'utf8')
    .digest()
  return String(signatures)
    .split(' ')
    .map((each) => each.split(','))
    .filter(([version]) => version === 'v1')
    .map(([, mac = '']) => Buffer.from(mac, 'base64'))
    .some((mac) => mac.length === expected.length && timingSafeEqual(mac, expected))
}

async function readAll(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}
