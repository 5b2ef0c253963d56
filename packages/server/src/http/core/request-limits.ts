/** Limits of connections and bodies before a route sees a request. Source: docs/security.md, Limits. */
import type { Server } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { BODY_LIMIT_BYTES, type Endpoint } from '@parley/protocol'
import type { Log } from '../../observability/index.ts'

/** Times in milliseconds. */
export type ConnectionLimits = {
  /** Open connections, sockets and event streams included. */
  maxConnections: number
  /** Time for the headers of a request, and for a new connection to send them. */
  headersMs: number
  /** Time for which a connection stays open between two requests; longer than usual proxies keep theirs. */
  idleMs: number
  /** Time for which a body may stop arriving, and for which the reader of an answer may take nothing. */
  silentMs: number
  /** Time for the rest of a body whose request was refused. */
  refusedBodyMs: number
  /** Time from the first to the last byte of a request; a large upload over a slow connection takes long. */
  requestMs: number
  /** Time between two checks of `headersMs` and `requestMs`. */
  checkMs: number
}

export const CONNECTION_LIMITS: ConnectionLimits = {
  maxConnections: 10_000,
  headersMs: 20_000,
  idleMs: 72_000,
  silentMs: 60_000,
  refusedBodyMs: 30_000,
  requestMs: 3_600_000,
  checkMs: 5_000,
}

/** Milliseconds between two log lines about refused connections. */
const REPORT_MS = 60_000

/** The largest body of a row in bytes. `configured`: the limit of all rows; null: that of the row. */
export const bodyLimitOf = (row: Endpoint | undefined, configured: number | null): number =>
  configured ?? row?.bodyLimitBytes ?? BODY_LIMIT_BYTES

/** Refuses connections beyond the limit, and reports it at most once a minute. */
export function limitConnections(server: Server, { maxConnections }: ConnectionLimits, log: Log): void {
  server.maxConnections = maxConnections
  let reportedAt = -Infinity
  server.on('drop', () => {
    const now = performance.now()
    if (now - reportedAt < REPORT_MS) return
    reportedAt = now
    log.warn({ limit: maxConnections }, 'connection refused: too many are open')
  })
}

/** Ends the connection when a body stops arriving, or the client does not read the answer. A request that takes long to answer is not affected. */
export function limitSilence(
  { raw }: FastifyRequest,
  { raw: response }: FastifyReply,
  { silentMs }: ConnectionLimits,
): void {
  response.setTimeout(silentMs, () => {
    if (!raw.complete || response.writableLength > 0) response.destroy()
  })
}

/** Ends the connection when the rest of a refused body takes long: nothing else bounds what an unknown client sends. */
export function limitRest({ raw }: FastifyRequest, { refusedBodyMs }: ConnectionLimits): void {
  if (raw.complete || raw.destroyed) return
  const late = setTimeout(() => raw.complete || raw.destroy(), refusedBodyMs).unref()
  raw.once('close', () => clearTimeout(late))
}
