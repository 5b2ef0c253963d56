/** The metrics of the server, for administrators. */
import { readMetrics } from '@parley/protocol'
import { expectAdmin } from '../core/auth.ts'
import { ok, route } from '../core/route.ts'
import type { Route } from '../core/web.ts'

/** Text of all metrics. */
export type ReadMetrics = () => Promise<string>

/** Content type of the text format of Prometheus. */
export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

export function metricsRoutes(text: ReadMetrics): Route[] {
  return [
    route(readMetrics, async (_call, actor) => {
      expectAdmin(actor)
      return { ...ok(readMetrics, await text()), headers: { 'content-type': METRICS_TYPE } }
    }),
  ]
}
