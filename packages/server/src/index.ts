/** The server package. Only the configuration is loaded at once, so that commands that start no server start fast. */
import type { CompositionOverrides, Server } from './compose/compose.ts'
import type { Config } from './config/index.ts'
import type { BackupReport, BackupRequest } from './compose/backup/back-up.ts'
import type { RestoreReport, RestoreRequest } from './compose/backup/restore.ts'
import type { Keys } from './compose/keys.ts'
import type { UserStates } from './compose/user-states.ts'
import type { ExportReport, ImportReport } from './compose/move.ts'
import type { WebhookTargets } from './compose/webhook-targets.ts'
import type { RekeyReport, RekeyRequest } from './compose/rekey.ts'
import type { ChainReport } from './observability/index.ts'
import type { MoveStep } from './storage/index.ts'
import type * as Preflight from './preflight.ts'

export type { CompositionOverrides, Server } from './compose/compose.ts'
export {
  ConfigError,
  configFlags,
  describeConfig,
  hasShortKey,
  MIN_KEY_CHARS,
  readConfig,
  type Config,
  type ConfigOrigins,
} from './config/index.ts'
export { endOnCrash, shellQuote } from './lib/index.ts'
export type { KeyRequest, Keys } from './compose/keys.ts'
export type { RekeyStep } from './compose/rekey.ts'
export type { MoveStep } from './storage/index.ts'

/**
 * Starts a server and resumes what an earlier one left running. Resolves when it answers requests.
 * @throws the system's error when it cannot listen; ConfigError or ParleyError when it must not start.
 */
export async function startServer(config: Config, overrides: CompositionOverrides = {}): Promise<Server> {
  return (await import('./compose/compose.ts')).startServer(config, overrides)
}

/** Opens the keys of the configured store; needs no running server. */
export async function openKeys(
  config: Pick<Config, 'dataDir' | 'databaseUrl' | 'sessionApiKeys' | 'mode'>,
): Promise<Keys> {
  return (await import('./compose/keys.ts')).openKeys(config)
}

/** Opens the users of the configured store; needs no running server. */
export async function openUserStates(config: Pick<Config, 'dataDir' | 'databaseUrl'>): Promise<UserStates> {
  return (await import('./compose/user-states.ts')).openUserStates(config)
}

/** Opens the webhook targets of the configured store; needs no running server. */
export async function openWebhookTargets(
  config: Pick<Config, 'dataDir' | 'databaseUrl' | 'secretKey' | 'webhooks' | 'automation' | 'sessionApiKeys' | 'mode'>,
): Promise<WebhookTargets> {
  return (await import('./compose/webhook-targets.ts')).openWebhookTargets(config)
}

/**
 * Checks the lines of an append-only audit file. Source: docs/audit.md, Append-only file.
 * @param end hash of the last line of the file before it
 */
export async function checkAuditLines(lines: AsyncIterable<string>, end: string | null): Promise<ChainReport> {
  return (await import('./observability/index.ts')).checkChain(lines, end)
}

/** Makes a backup of the configured data directory, also while a server uses it. @throws ParleyError with the remedy. */
export async function backUp(
  config: Pick<Config, 'dataDir' | 'databaseUrl' | 'secretKey'>,
  request: BackupRequest,
): Promise<BackupReport> {
  return (await import('./compose/backup/back-up.ts')).backUp(config, request)
}

/** Restores a backup into the configured data directory, which must be empty. @throws ParleyError with the remedy. */
export async function restore(
  config: Pick<Config, 'dataDir' | 'databaseUrl' | 'secretKey' | 'replaceSecretKey'>,
  request: RestoreRequest,
): Promise<RestoreReport> {
  return (await import('./compose/backup/restore.ts')).restore(config, request)
}

/** Seals everything in the store of the configured data directory with a new key; no server may use it. @throws ParleyError with the remedy. */
export async function rekey(
  config: Pick<Config, 'dataDir' | 'databaseUrl' | 'secretKey' | 'llm'>,
  request: RekeyRequest,
): Promise<RekeyReport> {
  return (await import('./compose/rekey.ts')).rekey(config, request)
}

/** Moves the store of the configured data directory into the configured database; no server may use either. @throws ParleyError with the remedy. */
export async function exportStore(
  config: Pick<Config, 'dataDir' | 'databaseUrl' | 'secretKey'>,
  progress: (step: MoveStep) => void,
): Promise<ExportReport> {
  return (await import('./compose/move.ts')).exportStore(config, progress)
}

/** Moves the store of the configured database into the configured data directory; no server may use either. @throws ParleyError with the remedy. */
export async function importStore(
  config: Pick<Config, 'dataDir' | 'databaseUrl' | 'secretKey'>,
  progress: (step: MoveStep) => void,
): Promise<ImportReport> {
  return (await import('./compose/move.ts')).importStore(config, progress)
}

/** The key that the first start made, for the command line; null when it was removed. */
export async function readFirstKey(dataDir: string): Promise<string | null> {
  return (await import('./settings/index.ts')).readFirstKey(dataDir)
}

/** Checks of what this machine can do for a server, each made by trying. */
export async function openPreflight(): Promise<typeof Preflight> {
  return import('./preflight.ts')
}
