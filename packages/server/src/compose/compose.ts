/** The composition root: opens the modules in order, and passes each what it depends on. Nothing is decided here. */
import { mkdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { openAutomation } from './automation.ts'
import { ConfigError, hasShortKey, isLoopback, MIN_KEY_CHARS, secretsOf, type Config } from '../config/index.ts'
import { composeCoordination, publish } from './coordination.ts'
import { composeEdge, type EdgeDeps } from './edge.ts'
import { composeEngine } from './engine.ts'
import { LiveNodes } from '../coordination/index.ts'
import { configuredAddress, openTransport, ServerKey } from '../llm/index.ts'
import { composeMcp } from './mcp.ts'
import { clearCrashMark, hasCrashed, markCrashes } from '../lib/index.ts'
import { openLog, type Log, type ServerMetrics } from '../observability/index.ts'
import { countedRuns, metricsText, openServerMetrics, serveMetrics } from './metrics.ts'
import { accountOf, expectConditions } from './mode.ts'
import { expectNoOwnKeys } from './own-keys.ts'
import { closeInTime, drainWork, endWork, releaseWork } from './shutdown.ts'
import {
  openKnownSecrets,
  openStoreCipher,
  secretValues,
  settleKeyFile,
  textsOfKeyFiles,
  withServerCredential,
} from '../secrets/index.ts'
import {
  DEFAULT_USER,
  makeFirstKey,
  newUserIn,
  readFirstKey,
  openCommandSecrets,
  openConversationSecretAccess,
  openFindLlm,
  openIdentities,
  openLogins,
  openNamedSecrets,
  openUserSettings,
  type FirstKey,
  SuspendedUsers,
  type Identities,
} from '../settings/index.ts'
import {
  lockDataDir,
  measuredStorage,
  openConversationFolders,
  openStore,
  placeIdOf,
  type Storage,
} from '../storage/index.ts'
import { uiLinkOf } from './ui-link.ts'
import { composeWebhooks } from './webhooks.ts'
import { composeWorkspaces } from './workspaces.ts'

export type Server = AsyncDisposable & {
  /** Address that it listens on, without a trailing slash. */
  url: string
  /** Address of the metrics without a key; null: no port for them is configured. */
  metricsUrl: string | null
  /** The key that this start made; null when there was one already. Shown once, never again. */
  firstKey: FirstKey | null
  /** Address that opens the web UI; null: the UI is switched off. With `hasCode` it logs a browser in, once and within ten minutes, if the server knows a key. */
  uiLink(options: { hasCode: boolean }): Promise<{ url: string; isLoggedIn: boolean } | null>
}

/** Replacements that tests make. */
export type CompositionOverrides = Pick<EdgeDeps, 'liveLimits' | 'chatWaitMs' | 'uiFolder'> & {
  wrapStorage?: (storage: Storage) => Storage
  /** Milliseconds between signs of life of the runner. */
  heartbeatMs?: number | undefined
  /** Milliseconds of a monotonic clock, for the age of secrets that were looked up. */
  lookupClock?: (() => number) | undefined
}

/**
 * Starts a server and resumes what an earlier one left running. Resolves when it answers requests.
 * @throws the system's error when it cannot listen; ParleyError when the data directory cannot be used, or another server uses it;
 * ConfigError when a condition of its mode is not met, and when it would listen on other addresses without a key, or send a key of
 * its own to another server.
 */
export async function startServer(
  config: Config,
  { wrapStorage = (storage) => storage, heartbeatMs, lookupClock, ...overrides }: CompositionOverrides = {},
): Promise<Server> {
  const { dataDir } = config
  const configured = secretsOf(config, secretValues).filter((secret) => secret !== null)
  const known = openKnownSecrets(configured)
  const log = openLog(config.logLevel, known.hide)
  // Before anything is created, which would belong to the wrong account.
  await expectConditions(config)
  const usable = await accountOf(config)
  const account = usable === null || 'says' in usable ? null : usable
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  if (account === null) await warnOfReaders(dataDir, log)
  await using opened = new AsyncDisposableStack()
  // Also without a stored conversation, because the runner, the secret key and the folders belong to one server too.
  const lock = opened.use(await lockDataDir(dataDir))

  const path = config.ephemeral ? ':memory:' : join(dataDir, 'parley.db')
  const { databaseUrl, databaseSessionUrl: sessionUrl } = config
  if (databaseUrl !== null) await warnOfUnusedStore(path, log)
  const place = databaseUrl === null ? null : await placeIdOf(dataDir)
  const metrics = opened.use(openServerMetrics())
  const opening = opened.use(await openStore({ path, databaseUrl, sessionUrl, place }))
  const storage = wrapStorage(measuredStorage(opening, (call) => metrics.storeCall(call)))
  if (hasCrashed(dataDir)) {
    await storage.conversations.countCrash()
    await clearCrashMark(dataDir)
  }
  const coordination = opened.use(
    await composeCoordination(config, storage, place, (...of) => metrics.claimed(...of), log),
  )
  const foldersDir = opened.use(await openConversationFolders(config)).path
  const keyText = config.secretKey === null ? {} : { keyText: config.secretKey }
  const keyOptions = { ...keyText, keyFile: join(dataDir, 'secret-key'), replaces: config.replaceSecretKey }
  if (!config.ephemeral) await settleKeyFile(keyOptions.keyFile, storage.sealTest)
  const storeCipher = known.watch(await openStoreCipher(storage.sealTest, keyOptions))
  const cipher = withServerCredential(storeCipher, config.llm.apiKey)
  const newUser = newUserIn(config.mode)
  if (config.withoutKeys || config.sessionApiKeys.length > 0) await storage.users.ensure(DEFAULT_USER, newUser.settings)
  const identities = openIdentities(storage.keys, config.sessionApiKeys, () => new Date(), newUser)
  const logins = openLogins(storage.logins, identities, () => new Date())
  await expectNoOwnKeys(config, identities)
  const firstKey = await firstKeyOf(config, identities)
  const own = [...configured, ...(await secretsIn(dataDir))]
  known.add(own)

  const suspended = new SuspendedUsers()
  suspended.replace(await storage.users.suspended())
  warnOfUsers(config, (await storage.users.list()).length, log)
  const { isShared } = coordination
  const nodes = opened.use(new LiveNodes(coordination))
  const parts = { config, storage, nodes, cipher, log, heartbeatMs, account, foldersDir, isShared }
  const { quotas, egress, isolation, workspaces, roots, notes, files, removal } = await composeWorkspaces(parts, opened)

  const secrets = openNamedSecrets(storage.secrets, cipher)
  const findLlm = openFindLlm(storage.documents, cipher)
  const settings = openUserSettings(storage.settings, secrets, cipher, findLlm)
  const commandSecrets = openCommandSecrets({ secrets, settings, cipher, own, log })
  const lookups = { hosts: config.secretLookupHosts, clock: lookupClock }
  const ownSecrets = openConversationSecretAccess({ cipher, commandSecrets, ...lookups, log })
  const transport = openTransport({
    egress,
    serverKey: new ServerKey(config.llm, config.mode === 'shared'),
    configuredUrl: configuredAddress(config.llm),
    onRequest: (request) => metrics.modelRequest(request),
  })
  opened.defer(() => transport[Symbol.dispose]())
  // Opened before the first commit, and closed after the last one.
  const onOutcome: ServerMetrics['delivery'] = (...of) => metrics.delivery(...of)
  const webhooks = opened.use(
    await composeWebhooks({ config, storage, cipher, coordination, nodes, known, onOutcome, log }),
  )
  const automation = opened.use(openAutomation(config, storage, coordination, log))
  const { mcp, tryServer } = composeMcp({ config, egress, workspaces, roots, commandSecrets, log })
  opened.defer(() => closeInTime('MCP servers', mcp, log))

  const shared = {
    config,
    quotas,
    storage,
    cipher,
    workspaces,
    roots,
    settings,
    findLlm,
    commandSecrets,
    ownSecrets,
    transport,
    suspended,
    removal,
  }
  const engine = composeEngine({
    ...shared,
    coordination,
    egress,
    notes,
    files,
    foldersDir,
    isolation,
    mcp,
    log,
    notifies: () => webhooks.hasTargets(),
    metrics,
    runs: countedRuns(metrics, automation.runs),
  })
  const readMetrics = metricsText(metrics, { engine, quotas, storage })
  const edge = composeEdge({
    ...shared,
    coordination,
    nodes,
    engine,
    identities,
    logins,
    secrets,
    isolation,
    metricsText: readMetrics,
    onForward: (...of) => metrics.forwarded(...of),
    mcp: { tryServer },
    log,
    ...overrides,
  })
  opened.defer(() => releaseWork(coordination, log))
  opened.defer(() => endWork(edge, engine, log))
  opened.defer(() => drainWork(edge, engine, coordination, config.drainMs, log))

  const metricsAddress = await serveMetrics(config, readMetrics, opened)
  const url = urlOf(await edge.listen({ host: config.host, port: config.port }))
  ownSecrets.listensAt(url)
  await lock.listensAt(url)
  await publish(coordination, config.host, url)
  const resuming = { commands: edge, 'completion callbacks': automation, conversations: engine }
  // Disposed first: from then on, an end is not a crash.
  opened.use(markCrashes(dataDir))
  for (const [of, part] of Object.entries(resuming))
    part.recover().catch((err: unknown) => log.error({ err, of }, 'recovery failed'))

  const open = opened.move()
  const metricsUrl = metricsAddress === null ? null : urlOf(metricsAddress)
  const uiLink: Server['uiLink'] = ({ hasCode }) => uiLinkOf(config, url, hasCode ? logins : null)
  return { url, metricsUrl, firstKey, uiLink, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

/** Makes a key when none is configured and none is stored; only for a server that other machines do not reach. */
async function firstKeyOf(
  { withoutKeys, sessionApiKeys, host, dataDir }: Config,
  identities: Identities,
): Promise<FirstKey | null> {
  if (withoutKeys || sessionApiKeys.length > 0) return null
  if ((await identities.list()).length > 0) return null
  if (isLoopback(host)) return makeFirstKey(dataDir, identities)
  throw new ConfigError(
    `no key is configured, so the server listens on this machine only, not on ${host}; ` +
      'set PARLEY_SESSION_API_KEYS or make a key with: parley keys create',
  )
}

/** Secrets in files of the data directory: the sealing key, also where another one is configured, and the key of the first start. */
async function secretsIn(dataDir: string): Promise<string[]> {
  const first = await readFirstKey(dataDir).catch(() => null)
  const sealing = await textsOfKeyFiles(join(dataDir, 'secret-key'))
  return [...sealing, ...(first === null ? [] : [first])]
}

function warnOfUsers(config: Config, users: number, log: Log): void {
  if (hasShortKey(config))
    log.warn({ setting: 'session_api_keys', fewest: MIN_KEY_CHARS }, 'a configured key is short enough to be guessed')
  if (config.mode === 'personal' && users > 1)
    log.warn({ setting: 'mode', users }, 'more than one user on a server in the mode personal')
}

/** An existing directory keeps its mode, which may be meant: a group for backups, or a volume of another account. */
async function warnOfReaders(dataDir: string, log: Log): Promise<void> {
  const { mode } = await stat(dataDir)
  if (process.platform === 'win32' || (mode & 0o077) === 0) return
  log.warn(
    { dataDir, mode: (mode & 0o777).toString(8) },
    'data directory has permissions for other accounts; chmod 700',
  )
}

/** A store that was used before the database was configured. */
async function warnOfUnusedStore(path: string, log: Log): Promise<void> {
  if (
    await stat(path).then(
      () => true,
      () => false,
    )
  )
    log.warn(
      { path, setting: 'database_url' },
      'store of the data directory not used, because a database is configured',
    )
}

const urlOf = ({ host, port }: { host: string; port: number }): string =>
  `http://${host.includes(':') ? `[${host}]` : host}:${port}`
