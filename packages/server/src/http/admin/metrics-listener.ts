/** `GET /metrics` without a key on an address of its own, for collectors. It serves nothing else. */
import type { RequestListener } from 'node:http'
import { nodeHttp } from '../../lib/index.ts'
import { ALWAYS } from '../core/always.ts'
import { METRICS_TYPE, type ReadMetrics } from './metrics.ts'

/** Connections of collectors at the same time. */
const MAX_CONNECTIONS = 32
/** Milliseconds for the headers of a request, and between two requests of a connection. */
const HEADERS_MS = 5_000
const IDLE_MS = 72_000

export type MetricsListener = AsyncDisposable & {
  /** Address that it listens on. */
  host: string
  port: number
}

/** Resolves when requests are answered. `port` 0 selects a free one. @throws the system's error when it cannot listen */
export async function openMetricsListener(
  { host, port }: { host: string; port: number },
  text: ReadMetrics,
): Promise<MetricsListener> {
  const answer: RequestListener = (request, response) => {
    const path = request.url?.split('?')[0]
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    const send = (status: number, body: string, headers: Record<string, string> = {}) => {
      response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', ...ALWAYS, ...headers })
      response.end(request.method === 'HEAD' ? undefined : body)
    }
    if (path !== '/metrics') return send(404, 'Not found. The metrics are at /metrics.\n')
    if (!isRead) return send(405, 'Method not allowed.\n', { allow: 'GET, HEAD' })
    text().then(
      (metrics) => send(200, metrics, { 'content-type': METRICS_TYPE }),
      () => send(500, 'The metrics could not be read.\n'),
    )
  }
  const server = nodeHttp().createServer(
    { headersTimeout: HEADERS_MS, requestTimeout: HEADERS_MS, keepAliveTimeout: IDLE_MS },
    answer,
  )
  server.maxConnections = MAX_CONNECTIONS
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject)
  server.listen(port, host, resolve)
  await promise
  const address = server.address()
  return {
    host,
    port: typeof address === 'object' && address !== null ? address.port : port,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}
