export { openLog, type Log } from './log.ts'
export { openAuditFile } from './audit/audit-file.ts'
export { openAuditSyslog, type SyslogAddress } from './audit/audit-syslog.ts'
export { checkChain, type ChainReport } from './audit/chain.ts'
export type { AuditSink } from './audit/sink-queue.ts'
export { METRICS } from './metrics/catalogue.ts'
export {
  ServerMetrics,
  type ClaimOutcome,
  type ForwardOutcome,
  type GaugeReaders,
  type ModelRequest,
  type StoreCall,
  type ToolCallEnd,
} from './metrics/server-metrics.ts'
