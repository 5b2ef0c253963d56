/**
 * The web framework, which is used only in this file. A request is authenticated before its body is read; the body is read as
 * bytes and parsed by routes that expect JSON.
 */
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from 'node:http'
import { type Duplex, Readable } from 'node:stream'
import { fastify, type FastifyHttpOptions, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { type Endpoint, ParleyError, takesIdempotencyKey } from '@parley/protocol'
import type { Actor } from '../../conversation/index.ts'
import type { ExpectAddresses } from '../../egress/index.ts'
import type { Log } from '../../observability/index.ts'
import type { AuditLog } from '../../storage/index.ts'
import { ALWAYS } from './always.ts'
import { auditedRequest, type RequestFacts } from './audited-request.ts'
import { addressOf, admit, type Auth, isForeign } from './auth.ts'
import { closeOf } from './close-of.ts'
import type { Cors } from './cors.ts'
import {
  type Answer,
  FOREIGN,
  FOREIGN_HOST,
  frameworkError,
  methodNotAllowed,
  NOT_FOUND,
  redirect,
  toAnswer,
  UNAUTHORIZED,
} from './errors.ts'
import type { IsOurHost } from './hosts.ts'
import type { IdempotentRequests } from './idempotency.ts'
import {
  bodyLimitOf,
  CONNECTION_LIMITS,
  type ConnectionLimits,
  limitConnections,
  limitRest,
  limitSilence,
} from './request-limits.ts'
import type { Forwarding } from '../forward/forwarding.ts'
import { askForBodies, forwardHooks } from '../forward/hooks.ts'
import { HOP_REFUSED } from '../forward/not-owner.ts'
import type { Connections } from '../live/connections.ts'
import type { RequestBudgets } from './rate-limits.ts'
import { matches, pathOf, type RoutePath, splitOnce, urlOf } from './route-path.ts'
import { takeTheRest } from './take-the-rest.ts'

/** A request as routes see it. */
export type RawRequest = {
  headers: IncomingHttpHeaders
  path: Readonly<Record<string, string>>
  query: Readonly<Record<string, unknown>>
  /** Absent for an empty body, and for a route that reads the stream. */
  body: Buffer | undefined
  /** The body as a stream, for a route that asks for it. */
  stream?: Readable
  contentType: string | undefined
  /** Null only on open routes. */
  actor: Actor | null
  /** The address that the request is counted under. */
  address: string | undefined
  /** Aborts when the caller has disconnected or the server closes. */
  callerSignal: () => AbortSignal
  /** Checks the addresses in the body of a row that names some. @throws ParleyError `invalid_input` */
  expectAddresses: ExpectAddresses
}

/** An answer that continues after its headers; the function owns the response from then on. */
export type Streamed = { stream(response: ServerResponse, headers: Record<string, string>): void }

export type Route = RoutePath & {
  /** The endpoint that the route serves. A route at another path than its row's is an alias, which the API description omits. */
  row?: Endpoint
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Needs no key. */
  isOpen: boolean
  /** An open route that shows more to a request with a key: its `actor` is the one of the key, and null without a valid one. */
  isOpenWithActor?: boolean
  /** Reports only that the server is there, and is therefore answered under any host name. */
  isProbe?: boolean
  /** Reads its body itself, of any length. */
  streamsBody?: boolean
  /** Authenticates a request without a valid key. */
  alsoAdmits?: (headers: IncomingHttpHeaders) => Promise<Actor | null>
  /** Pages of every origin may read the answer. */
  forAnyPage?: boolean
  /** Also takes requests with a key of the role `webhook`. */
  takesWebhooks?: boolean
  /** Also takes requests of keys that may only read, although its method is not GET. */
  forReaders?: boolean
  /** Errors of callers are answers, too; `errors.ts` answers everything that it throws. */
  answer(request: RawRequest): Promise<Answer | Streamed>
}

export type WebDeps = {
  auth: Auth
  cors: Cors
  /** Absent: all host names are accepted. */
  isOurHost?: IsOurHost | undefined
  /** Largest body of every route, in bytes; null: that of its row. */
  bodyLimitBytes: number | null
  /** Absent: `CONNECTION_LIMITS`. */
  limits?: ConnectionLimits
  log: Log
  /** True for a user who was disabled after the request was admitted. */
  isSuspended: (user: string) => boolean
  /** Absent: no limit. */
  budgets?: RequestBudgets
  /** Absent: no audit log. */
  audit?: AuditLog | undefined
  /** Absent: `Idempotency-Key` has no effect. */
  idempotency?: IdempotentRequests
  /** Absent: no other node shares the store. */
  nodes?: { forwarding: Forwarding; connections: Connections }
  expectAddresses: ExpectAddresses
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>
}

/** Longer than any id or name in a path; a longer one is an unknown route. */
const MAX_PATH_PART = 512
/** Content type that stands for a body that its route reads itself. */
const UNREAD = 'application/x-unread'

const contentTypes = new WeakMap<IncomingMessage, string>()
const actors = new WeakMap<FastifyRequest, Actor>()
const actorOf = (request: FastifyRequest) => actors.get(request)
const contentTypeOf = (request: FastifyRequest) => contentTypes.get(request.raw)

export type Web = {
  listen(address: { host: string; port: number }): Promise<{ host: string; port: number }>
  /** Stops accepting, and waits until the running requests have ended. Aborting `patience` closes their connections. */
  close(patience: AbortSignal): Promise<void>
}

export function createWeb(routes: readonly Route[], deps: WebDeps): Web {
  const { log, limits = CONNECTION_LIMITS } = deps
  const compiler = (() => () => () => true) as never
  const options: FastifyHttpOptions<Server> = {
    logger: false,
    bodyLimit: bodyLimitOf(undefined, deps.bodyLimitBytes),
    exposeHeadRoutes: false,
    // There are no plugins that could hang, and each route would start a timer.
    pluginTimeout: 0,
    forceCloseConnections: 'idle',
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.idleMs,
    // Routes carry no schemas of the framework's; with these two its validators and serializers are never loaded.
    schemaController: { compilersFactory: { buildValidator: compiler, buildSerializer: compiler } },
    routerOptions: { maxParamLength: MAX_PATH_PART },
    frameworkErrors: (_error, _request, reply) => void send(reply as FastifyReply, NOT_FOUND),
    // Only sockets are upgraded; a client that offers HTTP/2 gets its answer in HTTP/1.1.
    http: {
      headersTimeout: limits.headersMs,
      connectionsCheckingInterval: limits.checkMs,
      shouldUpgradeCallback: (request) => request.headers.upgrade?.toLowerCase() === 'websocket',
    },
  }
  const app = fastify(options)
  app.addHttpMethod('GET', { hasBody: true, overrideExisting: true })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  app.addContentTypeParser(UNREAD, (_request, body, done) => done(null, body))
  limitConnections(app.server, limits, log)
  app.addHook('onRequest', (request, reply, next) => {
    limitSilence(request, reply, limits)
    if (beforeRouting(request, reply, routes, deps)) next()
  })
  app.setNotFoundHandler((request, reply) => send(reply, unrouted(request, routes)))
  app.setErrorHandler(async (error, request, reply) => {
    const answer = frameworkError(error, request.routeOptions.bodyLimit, log)
    if (answer.status === 413) await takeTheRest(request, reply)
    note(request, answer, deps.audit)
    return send(reply, answer)
  })
  const closing = new AbortController()
  for (const route of routes) mount(app, route, deps, closing.signal)
  if (deps.nodes?.forwarding.isShared === true) askForBodies(app.server)
  app.server.on('upgrade', (request, socket, head) => void deps.upgrade(request, socket, head))
  app.server.on('clientError', (_error, socket) => {
    if (socket.writable) socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n')
  })

  return {
    listen: async ({ host, port }) => {
      await app.listen({ host, port })
      const address = app.server.address()
      return typeof address === 'object' && address !== null ? { host, port: address.port } : { host, port }
    },
    close: async (patience) => {
      closing.abort(new ParleyError('unavailable', 'the server is closing'))
      const cut = () => app.server.closeAllConnections()
      patience.addEventListener('abort', cut, { once: true })
      await app.close()
      patience.removeEventListener('abort', cut)
    },
  }
}

/** False when the request has been answered: a preflight, a request of a foreign page, or an unknown path. */
function beforeRouting(
  request: FastifyRequest,
  reply: FastifyReply,
  routes: readonly Route[],
  { cors, auth, nodes }: WebDeps,
): boolean {
  if (nodes?.forwarding.receive(request.raw) === false) return (send(reply, HOP_REFUSED), false)
  const { origin } = request.headers
  const forAnyPage = origin !== undefined && !cors.isAllowed(origin) && isForAnyPage(request.url, routes)
  const isPreflight = request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined
  if (origin !== undefined && isPreflight) {
    const { allowed, headers, text } = cors.preflight(
      origin,
      request.headers['access-control-request-headers'],
      forAnyPage,
    )
    send(reply, { status: allowed ? 200 : 400, body: text, headers })
    return false
  }
  void reply.headers(cors.answer(origin, forAnyPage))
  if (auth.noKeys !== undefined && isForeign(request.headers, cors.isAllowed)) return (send(reply, FOREIGN), false)
  // Answered here, before a body that no route reads is received.
  if (request.is404) return (send(reply, unrouted(request, routes)), false)
  const contentType = request.headers['content-type']
  if (contentType !== undefined) {
    // The route interprets the content type; the framework must not refuse one.
    contentTypes.set(request.raw, contentType)
    const { streamsBody } = request.routeOptions.config as Carried
    request.raw.headers['content-type'] = streamsBody === true ? UNREAD : 'application/octet-stream'
  }
  return true
}

const isForAnyPage = (url: string, routes: readonly Route[]): boolean =>
  routes.some((route) => route.forAnyPage === true && matches(route, splitOnce(url, '?')[0]))

/** Route data that the framework carries. */
type Carried = { streamsBody?: boolean; action?: string; isAuditedRead?: boolean }

/** Records a request and its answer in the audit log. */
function note(
  request: FastifyRequest,
  answer: Parameters<typeof auditedRequest>[1],
  audit: AuditLog | undefined,
): void {
  const actor = actors.get(request) ?? answer.audit?.actor
  const { action, isAuditedRead = false } = request.routeOptions.config as Carried
  if (audit === undefined || actor === undefined || action === undefined) return
  const { method, headers, params } = request
  const facts = { actor, method, headers, params: params as RequestFacts['params'], action, isAuditedRead }
  const entry = auditedRequest(facts, answer)
  if (entry !== null) audit.note(entry)
}

function mount(app: FastifyInstance, route: Route, deps: WebDeps, closing: AbortSignal): void {
  const { auth, log, budgets, audit, nodes, limits = CONNECTION_LIMITS } = deps
  app.route({
    method: route.method,
    url: urlOf(route),
    bodyLimit: bodyLimitOf(route.row, deps.bodyLimitBytes),
    config: {
      streamsBody: route.streamsBody === true,
      action: `${route.method} ${route.path}`,
      isAuditedRead: route.row?.isAuditedRead === true,
    } satisfies Carried,
    ...(nodes && forwardHooks(route, { ...nodes, actorOf, contentTypeOf })),
    ...(route.isOpen && route.isProbe !== true && { onRequest: guardOpen(route, deps) }),
    ...(!route.isOpen && {
      onRequest: async (request: FastifyRequest, reply: FastifyReply) => {
        const admitted = await admit(request, auth, route)
        const also = admitted.refusal === undefined ? null : ((await route.alsoAdmits?.(request.headers)) ?? null)
        const refused = also === null ? admitted.refusal : undefined
        const actor = also ?? admitted.actor
        if (actor !== undefined) actors.set(request, actor)
        // The node that the client has reached counts the request.
        const isCounted = nodes?.forwarding.isPassedOn(request.headers) !== true
        const spent = actor === undefined || !isCounted ? undefined : budgets?.spend(actor)
        void reply.headers(spent?.headers ?? {})
        const refusal = spent?.refusal ?? refused
        if (refusal === undefined) return undefined
        // Requests beyond the budget are not recorded: a flood would displace all other entries.
        if (spent?.refusal === undefined) note(request, refusal, audit)
        if (route.streamsBody === true) await takeTheRest(request, reply)
        limitRest(request, limits)
        return send(reply, refusal)
      },
    }),
    handler: async (request, reply) => {
      try {
        const answer = await answerOf(route, request, reply, deps, closing)
        note(request, 'stream' in answer ? { status: 200 } : answer, audit)
        if (!('stream' in answer)) return send(reply, answer)
        const headers = { ...ALWAYS, ...(reply.getHeaders() as Record<string, string>) }
        reply.hijack()
        answer.stream(reply.raw, headers)
        return reply
      } catch (error) {
        if (request.body instanceof Readable) await takeTheRest(request, reply)
        const answer = toAnswer(error, log)
        note(request, answer, audit)
        return send(reply, answer)
      }
    },
  })
}

/** The answer of the route, or the stored one of an earlier request with the same `Idempotency-Key`. */
async function answerOf(
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
  { auth, idempotency, isSuspended, expectAddresses, log }: WebDeps,
  closing: AbortSignal,
): Promise<Answer | Streamed> {
  const { headers, method, url } = request
  const actor = actors.get(request) ?? null
  // A body may arrive long after its request was admitted.
  if (actor !== null && isSuspended(actor.user)) return UNAUTHORIZED
  const raw: Omit<RawRequest, 'callerSignal'> = {
    headers,
    path: pathOf(route, request.params as Record<string, string>),
    query: request.query as Record<string, unknown>,
    ...(request.body instanceof Readable
      ? { body: undefined, stream: request.body }
      : { body: request.body as Buffer | undefined }),
    contentType: contentTypes.get(request.raw),
    actor,
    address: addressOf(request, auth),
    expectAddresses,
  }
  const key = headers['idempotency-key']
  const isKeyed = idempotency !== undefined && route.row !== undefined && takesIdempotencyKey(route.row)
  if (!isKeyed || key === undefined || actor === null)
    return route.answer({ ...raw, callerSignal: () => AbortSignal.any([closing, closeOf(reply.raw)]) })
  // A caller that has gone away asks again, so its request is carried out to the end.
  const perform = () =>
    route.answer({ ...raw, callerSignal: () => closing }).catch((error: unknown) => toAnswer(error, log))
  return idempotency.answer({ key: String(key), actor, method, url, body: raw.body }, perform, closing)
}

/** A request under a foreign host name may come from a page (DNS rebinding); one with a key does not. */
function guardOpen(route: Route, { auth, isOurHost }: WebDeps) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const isOurs = isOurHost === undefined || isOurHost(request.headers.host)
    if (isOurs && route.isOpenWithActor !== true) return undefined
    const { actor, refusal } = await admit(request, auth, route)
    if (actor !== undefined && refusal === undefined) actors.set(request, actor)
    return isOurs || refusal === undefined ? undefined : send(reply, FOREIGN_HOST)
  }
}

function send(reply: FastifyReply, { status, body, headers = {} }: Answer): FastifyReply {
  void reply.code(status).headers(ALWAYS).headers(headers)
  if (body === undefined) return reply.send()
  const isText = typeof body === 'string'
  if (headers['content-type'] === undefined)
    void reply.header('content-type', isText ? 'text/plain; charset=utf-8' : 'application/json')
  // Sent as bytes, because the framework adds a charset to JSON text, and JSON has none.
  return reply.send(Buffer.from(isText ? body : JSON.stringify(body)))
}

/** The answer for an unknown route: the path exists with another method, with or without its last slash, or not at all. */
function unrouted(request: FastifyRequest, routes: readonly Route[]): Answer {
  const [path, query] = splitOnce(request.url, '?')
  const methods = routes.filter((route) => matches(route, path)).map((route) => route.method)
  if (methods.length > 0) return methodNotAllowed(methods)
  const other = path.endsWith('/') ? path.slice(0, -1) : `${path}/`
  if (path !== '/' && !path.startsWith('//') && routes.some((route) => matches(route, other)))
    return redirect(query === undefined ? other : `${other}?${query}`)
  return NOT_FOUND
}
