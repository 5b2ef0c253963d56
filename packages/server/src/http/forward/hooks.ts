/** The hooks of routes that are served at the owner of a conversation. They run after authentication. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { isRecord, laxConversationId, ParleyError, type ConversationId } from '@parley/protocol'
import type { FastifyReply, FastifyRequest, preHandlerAsyncHookHandler, preParsingAsyncHookHandler } from 'fastify'
import { type Actor, unknownConversation } from '../../conversation/index.ts'
import { ALWAYS } from '../core/always.ts'
import { closeOf } from '../core/close-of.ts'
import { CONVERSATION_HEADER } from '../gateway/answers.ts'
import { readJsonBody } from '../input/json-body.ts'
import type { Connections } from '../live/connections.ts'
import type { Forwarding } from './forwarding.ts'
import { HOP_HEADER } from './hop.ts'
import { NOT_OWNER } from './not-owner.ts'
import { sendAnswer } from './passed-answer.ts'
import type { Outgoing } from './request-to-node.ts'
import { type ServedAt, servedAt } from './served-at.ts'

/** Bytes of a body that is read before it is passed on, so that it can be sent again; a longer one waits for its owner. */
const SMALL_BYTES = 64 * 1024

export type HookDeps = {
  forwarding: Forwarding
  /** Forwarded event streams, which end with the server. */
  connections: Connections
  actorOf: (request: FastifyRequest) => Actor | undefined
  /** As the client sent it. */
  contentTypeOf: (request: FastifyRequest) => string | undefined
}

type Hooks = { preParsing?: preParsingAsyncHookHandler; preHandler?: preHandlerAsyncHookHandler }

/** The hooks of a route; none where every node serves it. */
export function forwardHooks(route: { method: string; path: string }, deps: HookDeps): Hooks {
  const at = servedAt(route)
  if (!deps.forwarding.isShared || at === 'here') return {}
  if (at === 'started')
    return {
      preHandler: async (request, reply) => {
        const body = request.body as Buffer | undefined
        for (const id of await idsIn(body, deps.contentTypeOf(request)))
          if (!(await isHere({ id, body }, request, reply, deps))) return
      },
    }
  if (at === 'demo')
    return {
      preHandler: async (request, reply) => {
        const id = await deps.forwarding.demoOf(deps.actorOf(request)!)
        if (id !== null) await isHere({ id, body: undefined }, request, reply, deps)
      },
    }
  return {
    preParsing: async (request, reply, payload) => {
      const id = idOf(at, request)
      if (id !== undefined) return bodyAt(id, payload, { at, request, reply, deps })
      if (at === 'machine' && !deps.forwarding.isAlone) throw NAME_A_MACHINE
      return payload
    },
  }
}

/** A body that is announced is asked for; one from another node only after its conversation is known to be here. */
export function askForBodies(server: Server): void {
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    if (request.headers[HOP_HEADER] === undefined) response.writeContinue()
    server.emit('request', request, response)
  })
}

type Around = { at: ServedAt; request: FastifyRequest; reply: FastifyReply; deps: HookDeps }

/** The body for this node; as it came when the request has been answered. */
async function bodyAt(id: ConversationId, payload: Readable, { at, request, reply, deps }: Around): Promise<Readable> {
  const { headers } = request
  const lengthBytes = Number(headers['content-length'] ?? Number.NaN)
  const isChunked = headers['transfer-encoding'] !== undefined
  const isSmall = lengthBytes <= SMALL_BYTES
  let read: Buffer | undefined
  const body = async () => {
    if (isSmall) return (read ??= await buffer(payload).catch(cutOff))
    return isChunked || lengthBytes > 0 ? payload : undefined
  }
  if (at === 'machine' && !(await deps.forwarding.isOwn(id, deps.actorOf(request)!))) throw unknownConversation(id)
  if (!(await isHere({ id, body }, request, reply, deps))) return payload
  if (headers.expect !== undefined && deps.forwarding.isPassedOn(headers)) reply.raw.writeContinue()
  return read === undefined ? payload : Readable.from(read.length === 0 ? [] : [read], { objectMode: false })
}

type Named = { id: ConversationId; body: Buffer | undefined | (() => Promise<Buffer | Readable | undefined>) }

/** False when the request has been answered, so that no later hook runs: by the owner, or because another node has sent it here by mistake. */
async function isHere(
  { id, body }: Named,
  request: FastifyRequest,
  reply: FastifyReply,
  deps: HookDeps,
): Promise<boolean> {
  const { forwarding, connections } = deps
  const { raw } = request
  const gone = closeOf(reply.raw)
  const outgoing = async () => outgoingOf(request, typeof body === 'function' ? await body() : body, deps)
  const passed = await forwarding.pass({ id, actor: deps.actorOf(request)!, request: raw, outgoing }, gone)
  if (passed === 'here') return true
  const headers = reply.getHeaders() as Record<string, string>
  reply.hijack()
  if (passed === 'misdirected')
    reply.raw.writeHead(NOT_OWNER.status, { ...ALWAYS, ...NOT_OWNER.headers }).end(JSON.stringify(NOT_OWNER.body))
  else sendAnswer(passed, reply.raw, headers, connections)
  return false
}

function outgoingOf(request: FastifyRequest, body: Buffer | Readable | undefined, deps: HookDeps): Outgoing {
  const { method, url } = request
  const headers = deps.forwarding.headersTo(request.raw, { method, url })
  const type = deps.contentTypeOf(request)
  if (type === undefined) delete headers['content-type']
  else headers['content-type'] = type
  if (Buffer.isBuffer(body)) headers['content-length'] = String(body.length)
  else if (body !== undefined) {
    headers['expect'] = '100-continue'
    if (headers['content-length'] === undefined) headers['transfer-encoding'] = 'chunked'
  }
  return { method, url, headers, body }
}

/** The client has gone away in the middle of its body. */
function cutOff(error: Error): never {
  throw Object.assign(error, { statusCode: 400 })
}

/** The conversation that a request names; undefined for none, and for a text that is no id, which its route refuses. */
function idOf(at: ServedAt, { params, query, headers }: FastifyRequest): ConversationId | undefined {
  const { conversation_id: inPath } = params as { conversation_id?: string }
  const { conversation_id: inQuery } = query as { conversation_id?: unknown }
  const read = laxConversationId().safeParse(at === 'machine' ? inQuery : (inPath ?? headers[CONVERSATION_HEADER]))
  return read.success ? read.data : undefined
}

/** The conversations that the start of one depends on: the one with its id, if it exists, and its parent. */
async function idsIn(body: Buffer | undefined, contentType: string | undefined): Promise<ConversationId[]> {
  const json = await readJsonBody(body, contentType)
  if (json.kind !== 'value' || !isRecord(json.value)) return []
  const { conversation_id: id, parent_conversation_id: parent } = json.value
  return [id, parent].flatMap((text) => {
    const read = laxConversationId().safeParse(text)
    return read.success ? [read.data] : []
  })
}

const NAME_A_MACHINE = new ParleyError(
  'conflict',
  'This server runs on several machines, and the request acts on one of them. Name a conversation whose files are on that machine ' +
    'with the query parameter conversation_id.',
  { details: { reason: 'machine_not_named' } },
)
