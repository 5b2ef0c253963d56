/** Connects the metrics with the modules that report to them, and with the values that are read on demand. */
import type { Config } from '../config/index.ts'
import type { Engine, RunObserver } from '../conversation/index.ts'
import { openMetricsListener } from '../http/index.ts'
import { VERSION } from '../lib/index.ts'
import { ServerMetrics } from '../observability/index.ts'
import type { Quotas } from '../quotas/index.ts'
import type { Storage } from '../storage/index.ts'
import { standardToolNames } from '../tools/index.ts'

export const openServerMetrics = (): ServerMetrics => new ServerMetrics({ version: VERSION, tools: standardToolNames })

/** Counts the runs, and passes them to another observer where there is one. */
export const countedRuns = (
  metrics: ServerMetrics,
  other: Pick<RunObserver, 'began' | 'ended'> | null,
): RunObserver => ({
  began: async (id, record) => other?.began(id, record),
  async ended(id, record, end) {
    metrics.turnEnded(end.execution_status)
    await other?.ended(id, record, end)
  },
  stepped: () => metrics.stepped(),
})

export type MetricsTextDeps = {
  engine: Pick<Engine, 'liveCount'>
  quotas: Quotas
  storage: Pick<Storage, 'outbox'>
}

/** The text of the metrics of this server. */
export const metricsText =
  (metrics: ServerMetrics, { engine, quotas, storage }: MetricsTextDeps) =>
  (): Promise<string> =>
    metrics.text({
      runs: () => quotas.runs.total(),
      starts: () => quotas.starts.total(),
      queuedDeliveries: () => storage.outbox.counts(),
      liveConversations: () => engine.liveCount(),
      sockets: () => quotas.sockets.total(),
    })

/** Serves the metrics without a key where a port is configured. Returns its address; null: none is configured. */
export async function serveMetrics(
  { metrics: { host, port } }: Pick<Config, 'metrics'>,
  text: () => Promise<string>,
  opened: AsyncDisposableStack,
): Promise<{ host: string; port: number } | null> {
  return port === null ? null : opened.use(await openMetricsListener({ host, port }, text))
}
