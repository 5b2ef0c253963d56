/**
 * The web framework, and nothing of it leaves this file: routes go in, answers come out.
 * A request is admitted before its body is read; its body is read as bytes, and becomes JSON where a route wants JSON.
 */
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from 'node:http'
import { type Duplex, Readable } from 'node:stream'
import { fastify, type FastifyHttpOptions, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { ParleyError } from '@parley/protocol'
import type { Actor } from '../conversation/index.ts'
import type { Log } from '../observability/index.ts'
import type { Audit } from './audit.ts'
import { admit, type Auth, isForeign } from './auth.ts'
import type { Cors } from './cors.ts'
import {
  type Answer,
  bodyTooLarge,
  FOREIGN,
  FOREIGN_HOST,
  methodNotAllowed,
  NOT_FOUND,
  redirect,
  toAnswer,
  UNREADABLE_BODY,
} from './errors.ts'
import type { IsOurHost } from './hosts.ts'
import type { KeyBudgets } from './rate-limits.ts'
import { takeTheRest } from './take-the-rest.ts'

/** What a route sees of a request. */
export type RawRequest = {
  headers: IncomingHttpHeaders
  path: Readonly<Record<string, string>>
  query: Readonly<Record<string, unknown>>
  /** Absent when no bytes came, and where the route takes the stream. */
  body: Buffer | undefined
  /** The body as it comes in, of a route that asks for it. */
  stream?: Readable
  contentType: string | undefined
  /** Null only on open routes. */
  actor: Actor | null
  /** Aborts when the caller has gone away or the server is closing: then nobody waits for an answer any longer. */
  gone: () => AbortSignal
}

/** An answer that goes on after its headers; the function owns the response from then on. */
export type Streamed = { stream(response: ServerResponse, headers: Record<string, string>): void }

export type Route = {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** With `{name}` for a variable part. */
  path: string
  /** Answers without a key. */
  isOpen: boolean
  /** Tells nothing but that it is there, and so is answered under any host name. */
  isProbe?: boolean
  /** The last variable part takes the rest of the path, slashes included. */
  takesRest?: boolean
  /** Reads its body itself, of any length. */
  streamsBody?: boolean
  /** Lets in somebody without a valid key. */
  alsoAdmits?: (headers: IncomingHttpHeaders) => Promise<Actor | null>
  /** Every web page may read the answer, whatever its origin. */
  forAnyPage?: boolean
  /** Never rejects for what a caller can do wrong; everything thrown is answered by `errors.ts`. */
  answer(request: RawRequest): Promise<Answer | Streamed>
}

export type WebDeps = {
  auth: Auth
  cors: Cors
  /** Absent: under any host name everything is answered. */
  isOurHost?: IsOurHost | undefined
  bodyLimitBytes: number
  log: Log
  /** Absent: no limit. */
  budgets?: KeyBudgets
  /** Absent: nothing is noted. */
  audit?: Audit | undefined
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>
}

/**
 * On every answer: nothing here is for a cache, nothing is to be guessed from its bytes, no address is told to others, nothing
 * is a page that runs or is framed, and no other site embeds it. A route that answers with a page says what that may do.
 */
const ALWAYS = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
}
/** From the first byte of a request to its last, in milliseconds: a large upload over a slow line takes its time. */
const REQUEST_LIMIT_MS = 3_600_000
/** Longer than any id or name in a path; a longer one is an unknown route. */
const MAX_PATH_PART = 512

/** The label of a body that its route reads itself. */
const UNREAD = 'application/x-unread'

const contentTypes = new WeakMap<IncomingMessage, string>()
const actors = new WeakMap<FastifyRequest, Actor>()

export type Web = {
  listen(address: { host: string; port: number }): Promise<{ host: string; port: number }>
  /** Stops accepting, lets requests that run end, and waits for them. */
  close(): Promise<void>
}

export function createWeb(routes: readonly Route[], deps: WebDeps): Web {
  const { bodyLimitBytes, log } = deps
  const compiler = (() => () => () => true) as never
  const options: FastifyHttpOptions<Server> = {
    logger: false,
    bodyLimit: bodyLimitBytes,
    exposeHeadRoutes: false,
    forceCloseConnections: 'idle',
    requestTimeout: REQUEST_LIMIT_MS,
    // Routes carry no schemas of the framework's; with these two its validators and serializers are never loaded.
    schemaController: { compilersFactory: { buildValidator: compiler, buildSerializer: compiler } },
    routerOptions: { maxParamLength: MAX_PATH_PART },
    frameworkErrors: (_error, _request, reply) => void send(reply as FastifyReply, NOT_FOUND),
    // Only sockets are upgraded; a client that offers HTTP/2 gets its answer in HTTP/1.1.
    http: { shouldUpgradeCallback: (request) => request.headers.upgrade?.toLowerCase() === 'websocket' },
  }
  const app = fastify(options)
  app.addHttpMethod('GET', { hasBody: true, overrideExisting: true })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  app.addContentTypeParser(UNREAD, (_request, body, done) => done(null, body))
  app.addHook('onRequest', (request, reply, next) => {
    if (beforeRouting(request, reply, routes, deps)) next()
  })
  app.setNotFoundHandler((request, reply) => send(reply, unrouted(request, routes)))
  app.setErrorHandler(async (error, request, reply) => {
    const answer = frameworkError(error, bodyLimitBytes, log)
    if (answer.status === 413) await takeTheRest(request, reply)
    note(request, answer, deps.audit)
    return send(reply, answer)
  })
  const closing = new AbortController()
  for (const route of routes) mount(app, route, deps, closing.signal)
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
    close: async () => {
      closing.abort(new ParleyError('unavailable', 'the server is closing'))
      await app.close()
    },
  }
}

/** False when the request has been answered: a preflight, a stranger's page, or a path that is no route. */
function beforeRouting(
  request: FastifyRequest,
  reply: FastifyReply,
  routes: readonly Route[],
  { cors, auth }: WebDeps,
): boolean {
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
  // Answered here, before a body that nobody will look at is read.
  if (request.is404) return (send(reply, unrouted(request, routes)), false)
  const contentType = request.headers['content-type']
  if (contentType !== undefined) {
    // What a body is, is the route's question; the framework must not refuse one for its label.
    contentTypes.set(request.raw, contentType)
    const { streamsBody } = request.routeOptions.config as Carried
    request.raw.headers['content-type'] = streamsBody === true ? UNREAD : 'application/octet-stream'
  }
  return true
}

const REST = /\{(\w+)\}$/

const urlOf = ({ path, takesRest }: Route): string =>
  (takesRest === true ? path.replace(REST, '*') : path).replaceAll(/\{(\w+)\}/g, ':$1')

/** The framework knows the rest of a path under a name of its own. */
function pathOf({ path, takesRest }: Route, params: Record<string, string>): Record<string, string> {
  if (takesRest !== true) return params
  const { '*': rest = '', ...others } = params
  return { ...others, [REST.exec(path)![1]!]: rest }
}

const isForAnyPage = (url: string, routes: readonly Route[]): boolean =>
  routes.some((route) => route.forAnyPage === true && matches(route, splitOnce(url, '?')[0]))

/** What the framework carries of a route. */
type Carried = { streamsBody?: boolean; action?: string }

/** Notes a request that may have changed something, and its answer. */
function note(request: FastifyRequest, { status, about }: { status: number; about?: string }, audit?: Audit): void {
  const actor = actors.get(request)
  const { action } = request.routeOptions.config as Carried
  if (audit === undefined || actor === undefined || action === undefined || request.method === 'GET') return
  const { conversation_id } = request.params as { conversation_id?: string }
  audit.note({ action, actor, status, conversationId: about ?? conversation_id })
}

function mount(app: FastifyInstance, route: Route, deps: WebDeps, closing: AbortSignal): void {
  const { auth, log, budgets, audit } = deps
  app.route({
    method: route.method,
    url: urlOf(route),
    config: { streamsBody: route.streamsBody === true, action: `${route.method} ${route.path}` } satisfies Carried,
    ...(route.isOpen && route.isProbe !== true && { onRequest: guardOpen(deps) }),
    ...(!route.isOpen && {
      onRequest: async (request: FastifyRequest, reply: FastifyReply) => {
        const admitted = await admit(request, auth)
        const also = admitted.refusal === undefined ? null : ((await route.alsoAdmits?.(request.headers)) ?? null)
        const refused = also === null ? admitted.refusal : undefined
        const actor = also ?? admitted.actor
        if (actor !== undefined) actors.set(request, actor)
        const spent = actor === undefined ? undefined : budgets?.spend(actor.keyId)
        void reply.headers(spent?.headers ?? {})
        const refusal = spent?.refusal ?? refused
        if (refusal === undefined) return undefined
        // Not those beyond the budget: a flood would push everything else out.
        if (spent?.refusal === undefined) note(request, refusal, audit)
        if (route.streamsBody === true) await takeTheRest(request, reply)
        return send(reply, refusal)
      },
    }),
    handler: async (request, reply) => {
      try {
        const answer = await route.answer({
          headers: request.headers,
          path: pathOf(route, request.params as Record<string, string>),
          query: request.query as Record<string, unknown>,
          ...(request.body instanceof Readable
            ? { body: undefined, stream: request.body }
            : { body: request.body as Buffer | undefined }),
          contentType: contentTypes.get(request.raw),
          actor: actors.get(request) ?? null,
          gone: () => AbortSignal.any([closing, closeOf(reply.raw)]),
        })
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

/** Who asks under a stranger's name may be a page that was sent there; whoever has a key is not (DNS rebinding). */
function guardOpen({ auth, isOurHost }: WebDeps) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    if (isOurHost === undefined || isOurHost(request.headers.host)) return undefined
    const { refusal } = await admit(request, auth)
    return refusal === undefined ? undefined : send(reply, FOREIGN_HOST)
  }
}

/** Aborts when the connection under `response` is closed before the answer was given. */
function closeOf(response: ServerResponse): AbortSignal {
  const controller = new AbortController()
  response.once('close', () => controller.abort(new ParleyError('unavailable', 'the caller has gone away')))
  return controller.signal
}

function send(reply: FastifyReply, { status, body, headers = {} }: Answer): FastifyReply {
  void reply.code(status).headers(ALWAYS).headers(headers)
  if (body === undefined) return reply.send()
  const isText = typeof body === 'string'
  if (headers['content-type'] === undefined)
    void reply.header('content-type', isText ? 'text/plain; charset=utf-8' : 'application/json')
  // As bytes, because the framework adds a charset to JSON text, and JSON has none.
  return reply.send(Buffer.from(isText ? body : JSON.stringify(body)))
}

/** A path that is no route for this method: the same path with another method, with or without its last slash, or nothing. */
function unrouted(request: FastifyRequest, routes: readonly Route[]): Answer {
  const [path, query] = splitOnce(request.url, '?')
  const methods = routes.filter((route) => matches(route, path)).map((route) => route.method)
  if (methods.length > 0) return methodNotAllowed(methods)
  const other = path.endsWith('/') ? path.slice(0, -1) : `${path}/`
  if (path !== '/' && !path.startsWith('//') && routes.some((route) => matches(route, other)))
    return redirect(query === undefined ? other : `${other}?${query}`)
  return NOT_FOUND
}

function splitOnce(text: string, at: string): [string, string | undefined] {
  const index = text.indexOf(at)
  return index === -1 ? [text, undefined] : [text.slice(0, index), text.slice(index + 1)]
}

function matches({ path: template, takesRest }: Route, path: string): boolean {
  const wanted = template.split('/')
  const parts = path.split('/')
  const given = takesRest === true ? parts.slice(0, wanted.length) : parts
  return (
    wanted.length === given.length &&
    wanted.every((part, at) => (part.startsWith('{') ? given[at] !== '' || takesRest === true : part === given[at]))
  )
}

/** What went wrong before a route saw the request. */
function frameworkError(error: unknown, bodyLimitBytes: number, log: Log): Answer {
  const { code, statusCode } = error as { code?: string; statusCode?: number }
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return bodyTooLarge(bodyLimitBytes)
  if (statusCode !== undefined && statusCode < 500) return UNREADABLE_BODY
  return toAnswer(error, log)
}
