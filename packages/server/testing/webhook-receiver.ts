/**
 * A receiver of webhooks for tests: real HTTP at an address that stays the same while it is down. It takes each delivery once,
 * by its id, checks the signature by the words of the Standard Webhooks specification, and notes what is out of order.
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
import { setTimeout as sleep } from 'node:timers/promises'
import { search } from './canaries/watch.ts'
import { freePort } from './server-process.ts'

export type Received = {
  /** Below the base address: `/conversations`, `/events/<32 hex>`. */
  path: string
  headers: IncomingHttpHeaders
  /** As it came over the wire. */
  text: string
  body: any
}

/** Answers a request in the receiver's place; undefined: it is taken and answered 200. */
export type Behave = (request: Received, attempt: number) => Reply | undefined | Promise<Reply | undefined>
/** `hang`: no answer at all. */
export type Reply = { status: number; headers?: Record<string, string>; isTakenFirst?: boolean } | 'hang'

export type WebhookReceiverOptions = {
  /** Requests whose signature does not fit are refused with 401. */
  secret?: string
  behave?: Behave
}

export interface WebhookReceiver extends AsyncDisposable {
  /** What a target names as its `base_url`. */
  readonly url: string
  /** Deliveries that were taken, each once, in the order they were taken. */
  readonly taken: readonly Received[]
  /** Every request, also repeated and refused ones. */
  readonly attempts: readonly Received[]
  /** What a receiver should never see: bad signatures, deliveries out of order. */
  readonly faults: readonly string[]
  behave: Behave
  up(): Promise<void>
  /** Closes the port and breaks what is open. */
  down(): Promise<void>
  /** Deliveries about one conversation, in the order they were taken. */
  about(id: string): readonly Received[]
}

export async function startWebhookReceiver(options: WebhookReceiverOptions = {}): Promise<WebhookReceiver> {
  const port = await freePort()
  const taken: Received[] = []
  const attempts: Received[] = []
  const faults: string[] = []
  const ids = new Set<string>()
  const tries = new Map<string, number>()
  const lanes = new Map<string, Received>()
  let server: Server | null = null

  function take(request: Received): void {
    const id = String(request.headers['webhook-id'])
    if (ids.has(id)) return
    ids.add(id)
    const isBatch = request.path !== '/conversations'
    const lane = isBatch ? request.path : `${request.path} ${request.body.id}`
    const before = lanes.get(lane)
    lanes.set(lane, request)
    const [sequence, last] = [sequenceOf(request), before === undefined ? 0 : lastOf(before)]
    if (sequence !== last + 1) faults.push(`${lane}: ${sequence} came after ${last}`)
    taken.push(request)
  }

  async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = await readAll(incoming)
    search('a webhook', text)
    const request = { path: incoming.url ?? '/', headers: incoming.headers, text, body: JSON.parse(text) }
    attempts.push(request)
    if (options.secret !== undefined && !isSigned(request, options.secret)) {
      faults.push(`a signature of ${request.path} does not fit`)
      return void response.writeHead(401).end('{"detail":"Unauthorized"}')
    }
    const id = String(request.headers['webhook-id'])
    const attempt = (tries.get(id) ?? 0) + 1
    tries.set(id, attempt)
    const reply = await receiver.behave(request, attempt)
    if (reply === 'hang') return
    // A receiver may have stored what it then fails to acknowledge.
    if (reply === undefined || reply.isTakenFirst === true) take(request)
    const { status, headers } = reply ?? { status: 200 }
    response.writeHead(status, headers).end(status === 200 ? '{"success":true}' : '{"detail":"not now"}')
  }

  const receiver: WebhookReceiver = {
    url: `http://127.0.0.1:${port}`,
    taken,
    attempts,
    faults,
    behave: options.behave ?? (() => undefined),
    about: (id) =>
      taken.filter(({ path, body }) =>
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

const sequenceOf = ({ headers }: Received): number => Number(headers['x-parley-sequence'])
const lastOf = (request: Received): number =>
  Array.isArray(request.body) ? sequenceOf(request) + request.body.length - 1 : sequenceOf(request)

/** Standard Webhooks: base64 of the HMAC-SHA256 of `id.timestamp.body`, under the key after `whsec_`, one of several after `v1,`. */
function isSigned({ headers, text }: Received, secret: string): boolean {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures } = headers
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > 300) return false
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const wanted = createHmac('sha256', key)
    .update(`${String(id)}.${String(timestamp)}.${text}`, 'utf8')
    .digest()
  return String(signatures)
    .split(' ')
    .map((each) => each.split(','))
    .filter(([version]) => version === 'v1')
    .map(([, mac = '']) => Buffer.from(mac, 'base64'))
    .some((mac) => mac.length === wanted.length && timingSafeEqual(mac, wanted))
}

async function readAll(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}

/** Waits until `holds` is true; looks often, because others make it so. */
export async function receivedUntil(holds: () => boolean, timeoutMs = 15_000): Promise<void> {
  const deadline = performance.now() + timeoutMs
  while (!holds()) {
    if (performance.now() > deadline) throw new Error(`did not come true within ${timeoutMs} ms: ${holds.toString()}`)
    await sleep(10)
  }
}
