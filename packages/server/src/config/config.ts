/**
 * What the process is told from outside, read once: flags over environment over one JSON file.
 *
 * Every setting has one name in three spellings: `--data-dir`, `PARLEY_DATA_DIR`, `"data_dir"`. The `OH_…` names that existing
 * deployments set are understood where they mean the same (agent-server-wire.md 10.2). Nothing here reads `process.env`.
 */
import { readFileSync } from 'node:fs'
import { dirname, isAbsolute, join } from 'node:path'
import { ConfigError } from './error.ts'
import type { Network } from '../lib/index.ts'
import {
  bool,
  checked,
  type Given,
  httpUrl,
  integer,
  keys,
  list,
  logLevel,
  type LogLevel,
  network,
  path,
  type Read,
  sandboxMode,
  SECONDS,
  seconds,
  secondsOrNever,
  text,
  webOrigins,
} from './values.ts'
import { numberedObjects, readWebhooks } from './webhooks.ts'
import type { WebhookTarget } from '../webhooks/index.ts'
import { DEADLINES_RULE, GIT_HOSTS_RULE, readDeadlines, readGitHosts } from './starts.ts'
import type { StartSources } from '../conversation/index.ts'
import type { CallbackTarget, SandboxPolicy } from '../workspace/index.ts'

export { ConfigError, type LogLevel }

export type Config = {
  /** Address to listen on. */
  host: string
  /** 0: any free port. */
  port: number
  /** Absolute. Holds the store, the keys' file, the runner's socket and the conversations' own folders. */
  dataDir: string
  /** Conversations are kept in memory alone: nothing of them is left when the server has ended. */
  ephemeral: boolean
  /** Keys of the user `default`, beside those issued by `parley keys create`. */
  sessionApiKeys: string[]
  /** Seals secrets at rest; null: the server makes one and keeps it in the data directory. */
  secretKey: string | null
  /** Answer every request as the user `default`. Only on loopback. */
  withoutKeys: boolean
  /** Origins of browsers that are let in, beside those on this machine. */
  corsOrigins: string[]
  /** Host names under which this server is known, beside addresses and `localhost`: `*.example.org` for all below, `*` for any. */
  publicHosts: string[]
  /** Whether a socket's key may stand in its address, as existing clients send it. */
  socketKeyInUrl: boolean
  /** Largest request body. */
  bodyLimitBytes: number
  /** An idle conversation leaves memory after this long; null: never. */
  idleUnloadMs: number | null
  runner: {
    /** The runner ends its children and itself when no server has claimed it for this long. */
    orphanExitMs: number
  }
  logLevel: LogLevel
  /** The browser of agents; null: the one that is installed where their commands run. */
  chromium: string | null
  /** The model of conversations that name none; what a user has stored in settings goes before it. */
  llm: { model: string | null; apiKey: string | null; baseUrl: string | null }
  /** The MCP server that searches the web with a user's `search_api_key`. */
  searchUrl: string
  /** Requests of one key in a minute; 0: no limit. */
  rateLimitPerMinute: number
  /** Runs at the same time; more wait their turn. */
  maxConcurrentRuns: number
  /** Who is told how runs of remote workspaces end; null: nobody. Source: seed: Workspace variants. */
  automation: CallbackTarget | null
  /** The account with the vendor of the monitoring service that VendorAnalyzer asks; goes before what a conversation says. */
  vendor: { apiKey: string | null; policyId: string | null; apiUrl: string | null }
  /** Who is told what happens. */
  webhooks: WebhookTarget[]
  /** Hosts, with or without a port, at which secrets may be looked up; this server itself always may. */
  secretLookupHosts: readonly string[]
  /** Base addresses of git hosts, repositories whose set-up scripts are run, and what each phase of a start may take. */
  starts: Required<Pick<StartSources, 'hosts' | 'trusted' | 'deadlines'>>
  /** Patterns of projects whose `.openhands/hooks.json` counts: repositories as `github.com/acme/*`, directories as absolute paths. */
  trustedHooks: readonly string[]
  /** Home folder of the account that the server runs under: what its owner keeps there for all projects. */
  home: string
  /** Patterns of MCP servers whose word about their own tools counts: addresses without query, or whole command lines. */
  trustedMcpServers: readonly string[]
  /** The walls around commands of agents. */
  sandbox: SandboxPolicy
}

/** The settings by the name they have in the file. */
export type SettingName = (typeof SETTINGS)[number]['name']
/** Where each value came from, in words for people: `--port`, `PARLEY_PORT`, `parley.json: port`, `default`. */
export type ConfigOrigins = Record<SettingName, string>

export type ConfigSources = {
  /** Parsed command line, by flag name without dashes. */
  flags: Readonly<Record<string, string | boolean | undefined>>
  env: Readonly<Record<string, string | undefined>>
  /** What relative paths of flags and environment start from; those of the file start from the file's folder. */
  cwd: string
  home: string
}

type Setting = {
  name: string
  /** Other environment names of the same meaning, after `PARLEY_<NAME>`. */
  also?: readonly string[]
  /** An environment name that holds one item of the list, commas and all. */
  one?: string
  isFlag?: boolean
  isSecret?: boolean
  isList?: boolean
  /** A list of objects: `NAME_0_MEMBER` in the environment. */
  isObjects?: boolean
}

const SETTINGS = [
  { name: 'host', isFlag: true },
  { name: 'port', isFlag: true },
  { name: 'data_dir', isFlag: true },
  { name: 'ephemeral', isFlag: true },
  { name: 'session_api_keys', one: 'SESSION_API_KEY', also: ['OH_SESSION_API_KEYS'], isSecret: true, isList: true },
  { name: 'secret_key', also: ['OH_SECRET_KEY'], isSecret: true },
  { name: 'without_keys', isFlag: true },
  { name: 'allow_cors_origins', also: ['OH_ALLOW_CORS_ORIGINS'], isList: true },
  { name: 'public_hosts', isList: true },
  { name: 'socket_key_in_url' },
  { name: 'body_limit_bytes' },
  { name: 'idle_unload_seconds', also: ['OH_CONVERSATION_IDLE_TTL_SECONDS'] },
  { name: 'runner_orphan_exit_seconds' },
  { name: 'log_level', isFlag: true },
  { name: 'max_concurrent_runs', also: ['OH_MAX_CONCURRENT_RUNS'] },
  { name: 'rate_limit_per_minute' },
  { name: 'llm_model', also: ['LLM_MODEL'] },
  { name: 'llm_api_key', also: ['LLM_API_KEY'], isSecret: true },
  { name: 'llm_base_url', also: ['LLM_BASE_URL'] },
  { name: 'search_mcp_url' },
  { name: 'webhooks', also: ['OH_WEBHOOKS'], isObjects: true },
  { name: 'git_hosts' },
  { name: 'trusted_repositories', isList: true },
  { name: 'trusted_hooks', isList: true },
  { name: 'trusted_mcp_servers', isList: true },
  { name: 'chromium' },
  { name: 'sandbox' },
  { name: 'sandbox_network' },
  { name: 'start_deadlines' },
  { name: 'secret_lookup_hosts', isList: true },
  { name: 'vendor_api_key', also: ['GRAYSWAN_API_KEY'], isSecret: true },
  { name: 'vendor_policy_id', also: ['GRAYSWAN_POLICY_ID'] },
  { name: 'vendor_api_url' },
  { name: 'automation_callback_url', also: ['AUTOMATION_CALLBACK_URL'] },
  { name: 'automation_callback_api_key', also: ['AUTOMATION_CALLBACK_API_KEY'], isSecret: true },
  { name: 'automation_run_id', also: ['AUTOMATION_RUN_ID'] },
] as const satisfies readonly Setting[]

const MIB = 1024 * 1024

/**
 * Reads everything at once.
 * @throws ConfigError for a value that cannot be used, an unreadable file, an unknown member of the file, or no keys off loopback.
 */
export function readConfig(sources: ConfigSources): { config: Config; origins: ConfigOrigins } {
  const file = readFile(sources)
  const origins = {} as ConfigOrigins
  const take = <T>(name: SettingName, otherwise: T, read: Read<T>): T => {
    const given = find(
      SETTINGS.find((setting) => setting.name === name)!,
      sources,
      file,
    )
    origins[name] = given?.origin ?? 'default'
    return given === undefined ? otherwise : read(given, sources.home)
  }
  const config: Config = {
    host: take('host', '127.0.0.1', text),
    port: take('port', 8000, integer(0, 65_535)),
    dataDir: take('data_dir', defaultDataDir(sources), path),
    ephemeral: take('ephemeral', false, bool),
    sessionApiKeys: take('session_api_keys', [], keys),
    secretKey: take<string | null>('secret_key', null, text),
    withoutKeys: take('without_keys', false, bool),
    corsOrigins: take('allow_cors_origins', [], webOrigins),
    publicHosts: take('public_hosts', [], list),
    socketKeyInUrl: take('socket_key_in_url', true, bool),
    bodyLimitBytes: take('body_limit_bytes', 32 * MIB, integer(1024, 1024 * MIB)),
    idleUnloadMs: take<number | null>('idle_unload_seconds', 1200 * SECONDS, secondsOrNever),
    runner: { orphanExitMs: take('runner_orphan_exit_seconds', 900 * SECONDS, seconds) },
    logLevel: take<LogLevel>('log_level', 'info', logLevel),
    llm: {
      model: take<string | null>('llm_model', null, text),
      apiKey: take<string | null>('llm_api_key', null, text),
      baseUrl: take<string | null>('llm_base_url', null, httpUrl),
    },
    maxConcurrentRuns: take('max_concurrent_runs', 64, integer(1, 100_000)),
    searchUrl: take('search_mcp_url', 'https://mcp.tavily.com/mcp/', httpUrl),
    rateLimitPerMinute: take('rate_limit_per_minute', 60_000, integer(0, 1_000_000_000)),
    vendor: {
      apiKey: take<string | null>('vendor_api_key', null, text),
      policyId: take<string | null>('vendor_policy_id', null, text),
      apiUrl: take<string | null>('vendor_api_url', null, httpUrl),
    },
    starts: {
      hosts: take('git_hosts', {}, checked(readGitHosts, GIT_HOSTS_RULE)),
      trusted: take<readonly string[]>('trusted_repositories', [], list),
      deadlines: take('start_deadlines', {}, checked(readDeadlines, DEADLINES_RULE)),
    },
    secretLookupHosts: take<readonly string[]>('secret_lookup_hosts', [], list),
    home: sources.home,
    trustedHooks: take<readonly string[]>('trusted_hooks', [], list),
    trustedMcpServers: take<readonly string[]>('trusted_mcp_servers', [], list),
    chromium: take<string | null>('chromium', null, path),
    sandbox: {
      mode: take<SandboxPolicy['mode']>('sandbox', 'off', sandboxMode),
      network: take<Network>('sandbox_network', true, network),
    },
    automation: null,
    webhooks: [],
  }
  const callback = {
    url: take<string | null>('automation_callback_url', null, httpUrl),
    apiKey: take<string | null>('automation_callback_api_key', null, text),
    runId: take<string | null>('automation_run_id', null, text),
  }
  if (callback.url !== null) config.automation = { ...callback, url: callback.url }
  config.webhooks = take<WebhookTarget[]>('webhooks', [], (given) =>
    readWebhooks(given, config.sessionApiKeys[0] ?? null),
  )
  if (config.withoutKeys && config.sessionApiKeys.length > 0) {
    throw new ConfigError(
      `${origins.without_keys} asks for no keys, but ${origins.session_api_keys} gives some; remove one of the two`,
    )
  }
  if (config.withoutKeys && !isLoopback(config.host)) {
    throw new ConfigError(
      `running without keys is allowed on loopback only, and host is ${config.host} (${origins.host}); ` +
        `use 127.0.0.1, or remove ${origins.without_keys}`,
    )
  }
  return { config, origins }
}

/** One line per setting: name, value, where it came from. Secrets show only whether they are set. */
export function describeConfig(config: Config, origins: ConfigOrigins): string[] {
  const inForce: Record<SettingName, unknown> = {
    host: config.host,
    port: config.port,
    data_dir: config.dataDir,
    ephemeral: config.ephemeral,
    session_api_keys: config.sessionApiKeys,
    secret_key: config.secretKey,
    without_keys: config.withoutKeys,
    allow_cors_origins: config.corsOrigins,
    public_hosts: config.publicHosts,
    socket_key_in_url: config.socketKeyInUrl,
    body_limit_bytes: config.bodyLimitBytes,
    idle_unload_seconds: config.idleUnloadMs === null ? 'never' : config.idleUnloadMs / SECONDS,
    runner_orphan_exit_seconds: config.runner.orphanExitMs / SECONDS,
    log_level: config.logLevel,
    max_concurrent_runs: config.maxConcurrentRuns,
    rate_limit_per_minute: config.rateLimitPerMinute,
    llm_model: config.llm.model,
    llm_api_key: config.llm.apiKey,
    llm_base_url: config.llm.baseUrl,
    search_mcp_url: config.searchUrl,
    vendor_api_key: config.vendor.apiKey,
    vendor_policy_id: config.vendor.policyId,
    vendor_api_url: config.vendor.apiUrl,
    automation_callback_url: config.automation?.url ?? null,
    automation_callback_api_key: config.automation?.apiKey ?? null,
    automation_run_id: config.automation?.runId ?? null,
    git_hosts: JSON.stringify(config.starts.hosts),
    trusted_repositories: config.starts.trusted,
    trusted_hooks: config.trustedHooks,
    trusted_mcp_servers: config.trustedMcpServers,
    chromium: config.chromium,
    sandbox: config.sandbox.mode,
    sandbox_network: config.sandbox.network,
    start_deadlines: JSON.stringify(config.starts.deadlines),
    secret_lookup_hosts: config.secretLookupHosts,
    webhooks: config.webhooks.map(({ base_url }) => base_url),
  }
  const rows = SETTINGS.map((setting) => [setting.name, show(setting, inForce[setting.name]), origins[setting.name]])
  const width = (column: number) => Math.max(...rows.map((row) => row[column]!.length))
  return rows.map(([name, value, origin]) => `${name!.padEnd(width(0))}  ${value!.padEnd(width(1))}  ${origin}`)
}

/** Whether only this machine can reach `host`. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host)
}

function show(setting: Setting, value: unknown): string {
  if (Array.isArray(value)) {
    if (value.length === 0) return 'none'
    return setting.isSecret === true ? `${value.length} set, hidden` : value.join(', ')
  }
  if (value === null) return 'not set'
  if (setting.isSecret === true) return 'set, hidden'
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function find(setting: Setting, { flags, env, cwd }: ConfigSources, file: File): Given | undefined {
  const flag = setting.name.replaceAll('_', '-')
  const flagged = setting.isFlag === true ? flags[flag] : undefined
  if (flagged !== undefined) return { value: flagged, origin: `--${flag}`, base: cwd }
  for (const name of [`PARLEY_${setting.name.toUpperCase()}`, ...(setting.also ?? [])]) {
    // An empty variable is an unset one: that is how compose files and unit files leave a variable out.
    const value = env[name]
    if (value !== undefined && value !== '') return { value, origin: name, base: cwd }
    const numberedOf =
      setting.isObjects === true ? numberedObjects : setting.isList === true ? numberedValues : undefined
    const numbered = numberedOf?.(env, name) ?? []
    if (numbered.length > 0) return { value: numbered, origin: `${name}_0…`, base: cwd }
  }
  const one = setting.one === undefined ? undefined : env[setting.one]
  if (one !== undefined && one !== '') return { value: [one], origin: setting.one!, base: cwd }
  if (!(setting.name in file.members)) return undefined
  return { value: file.members[setting.name], origin: `${file.path}: ${setting.name}`, base: dirname(file.path) }
}

/** `NAME_0`, `NAME_1`, … up to the first gap (agent-server-wire.md 10.2). */
function numberedValues(env: ConfigSources['env'], name: string): string[] {
  const values: string[] = []
  for (let n = 0; ; n++) {
    const value = env[`${name}_${n}`]
    if (value === undefined || value === '') return values
    values.push(value)
  }
}

type File = { path: string; members: Record<string, unknown> }

function readFile({ flags, env, cwd, home }: ConfigSources): File {
  const flag = flags['config']
  const given = typeof flag === 'string' ? flag : env['PARLEY_CONFIG']
  const origin = typeof flag === 'string' ? '--config' : 'PARLEY_CONFIG'
  if (given === undefined || given === '') return { path: '', members: {} }
  const file = path({ value: given, origin, base: cwd }, home)
  let members: unknown
  try {
    members = JSON.parse(readFileSync(file, 'utf8'))
  } catch (cause) {
    throw new ConfigError(`${origin} names ${file}, which cannot be read as JSON: ${(cause as Error).message}`, {
      cause,
    })
  }
  if (typeof members !== 'object' || members === null || Array.isArray(members)) {
    throw new ConfigError(`${file} must hold one JSON object, such as {"port": 8000}`)
  }
  const known: readonly string[] = SETTINGS.map((setting) => setting.name)
  const unknown = Object.keys(members).find((name) => !known.includes(name))
  if (unknown !== undefined) {
    throw new ConfigError(`${file} has an unknown member "${unknown}"; known are ${known.join(', ')}`)
  }
  return { path: file, members: members as Record<string, unknown> }
}

function defaultDataDir({ env, home }: ConfigSources): string {
  const shared = env['XDG_DATA_HOME']
  // The XDG rules say that a relative path in this variable is to be ignored.
  return shared !== undefined && isAbsolute(shared) ? join(shared, 'parley') : join(home, '.parley')
}
