/**
 * Every setting as one row. `Config`, reading, `parley config`, the flags and docs/configuration.md follow from the rows.
 *
 * The place of a row in `SETTINGS` is the place of its value in `Config`. Its `name` has three spellings: `--data-dir`,
 * `PARLEY_DATA_DIR`, `"data_dir"`.
 */
import { isAbsolute, join } from 'node:path'
import type { Network } from '../lib/index.ts'
import type { StartSources } from '../conversation/index.ts'
import type { SyslogAddress } from '../observability/index.ts'
import type { ListedRoots, SandboxPolicy } from '../workspace/index.ts'
import { deadlines, gitHosts } from './starts.ts'
import {
  bool,
  databaseUrl,
  egressRules,
  httpUrl,
  integer,
  keys,
  list,
  logLevel,
  type LogLevel,
  mode,
  type Mode,
  network,
  networks,
  path,
  paths,
  type Reader,
  sandboxMode,
  SECONDS,
  seconds,
  secondsFrom,
  secondsOrNever,
  syslogAddress,
  text,
  variableNames,
  webOrigins,
} from './values.ts'
import { signingSecrets, webhooks } from './webhooks.ts'
import { printedLimits, userLimits } from './user-limits.ts'
import { workspaceRoots } from './workspace-roots.ts'
import type { ListedLimits } from '../quotas/index.ts'
import type { WebhookTarget } from '../webhooks/index.ts'

export type ConfigSources = {
  /** Parsed command line, by flag name without dashes. */
  flags: Readonly<Record<string, string | boolean | undefined>>
  env: Readonly<Record<string, string | undefined>>
  /** Base of relative paths in flags and environment; in the file, the base is the folder of the file. */
  cwd: string
  home: string
}

export type Flag = { type: 'string' | 'boolean'; value?: string; short?: string; about: string }

export type Setting<T = unknown> = {
  /** The member of the file; the flag and the environment name follow from it. */
  name: string
  /** Further environment names of the same meaning. Source: agent-server-wire.md 10.2. */
  env?: readonly string[]
  /** An environment name that holds one item of the list, including its commas. */
  envItem?: string
  read: Reader<T>
  default: T | ((sources: ConfigSources) => T)
  /** The default in the mode `shared`, where it is another one. */
  sharedDefault?: T
  /** The default for people, where the value does not show it. */
  defaultText?: string
  /** Present: the setting is also a flag. `value` is its placeholder in the help text. */
  flag?: { value?: string; short?: string }
  isSecret?: boolean
  /** One sentence without a full stop. */
  describe: string
  /** Page under docs/ that explains the setting. */
  page?: string
  /** The value as `parley config` prints it, where the value itself does not do. */
  print?(value: T): unknown
}

const setting = <T>(row: Setting<T>): Setting<T> => row
const MIB = 1024 * 1024

export const SETTINGS = {
  host: setting({
    name: 'host',
    flag: { value: 'HOST' },
    read: text,
    default: '127.0.0.1',
    describe: 'Address to listen on',
  }),
  port: setting({
    name: 'port',
    flag: { value: 'PORT', short: 'p' },
    read: integer(0, 65_535),
    default: 8000,
    describe: 'Port to listen on; 0 selects a free one',
  }),
  metrics: {
    port: setting<number | null>({
      name: 'metrics_port',
      read: integer(0, 65_535),
      default: null,
      describe:
        'Port that answers `GET /metrics` without a key, besides the one for administrators at the port of the server; 0 selects a free one',
      page: 'operations.md',
    }),
    host: setting({
      name: 'metrics_host',
      read: text,
      default: '127.0.0.1',
      describe: 'Address that `metrics_port` listens on; every program that reaches it can read the metrics',
      page: 'operations.md',
    }),
  },
  dataDir: setting({
    name: 'data_dir',
    flag: { value: 'DIR' },
    read: path,
    default: defaultDataDir,
    defaultText: '`$XDG_DATA_HOME/parley`, else `~/.parley`',
    describe: "Folder of the store, the runner's socket and the conversations' files",
    page: 'operations.md',
  }),
  databaseUrl: setting<string | null>({
    name: 'database_url',
    read: databaseUrl,
    default: null,
    defaultText: 'a SQLite file in the data folder',
    isSecret: true,
    describe: 'Address of a PostgreSQL database for the store, such as `postgres://user:password@host/name`',
    page: 'operations.md',
  }),
  databaseSessionUrl: setting<string | null>({
    name: 'database_session_url',
    read: databaseUrl,
    default: null,
    defaultText: '`database_url`',
    isSecret: true,
    describe:
      'Address of the same database without a pooler between, for the lease of the server and its notifications',
    page: 'operations.md',
  }),
  nodeUrl: setting<string | null>({
    name: 'node_url',
    read: httpUrl,
    default: null,
    defaultText: 'the address where the server listens, on loopback only',
    describe: 'Address at which other servers on the same database reach this one, such as `http://10.0.0.7:8000`',
    page: 'operations.md',
  }),
  leaseMs: setting({
    name: 'lease_seconds',
    read: secondsFrom(3, 300),
    default: 6 * SECONDS,
    print: (ms) => ms / SECONDS,
    describe:
      'Seconds without a sign of life after which other servers on the same database continue the conversations of this one',
    page: 'operations.md',
  }),
  mode: setting<Mode>({
    name: 'mode',
    flag: { value: 'MODE' },
    read: mode,
    default: 'personal',
    describe: 'One user, or several users who do not trust each other',
    page: 'security.md',
  }),
  allowRoot: setting({
    name: 'allow_root',
    flag: {},
    read: bool,
    default: false,
    describe: 'Lets the server run as root (user id 0)',
    page: 'operations.md',
  }),
  runnerUser: setting<string | null>({
    name: 'runner_user',
    read: text,
    default: null,
    defaultText: 'the account of the server',
    describe: 'Account of this machine that commands run as, by name or user id; the server then runs as root',
    page: 'security.md',
  }),
  ephemeral: setting({
    name: 'ephemeral',
    flag: {},
    read: bool,
    default: false,
    describe: 'Keeps conversations in memory; they end with the server',
  }),
  sessionApiKeys: setting<string[]>({
    name: 'session_api_keys',
    env: ['OH_SESSION_API_KEYS'],
    envItem: 'SESSION_API_KEY',
    read: keys,
    default: [],
    defaultText: 'the first start creates one',
    isSecret: true,
    describe: 'Keys of the user `default`, in addition to issued keys',
    page: 'keys.md',
  }),
  secretKey: setting<string | null>({
    name: 'secret_key',
    env: ['OH_SECRET_KEY'],
    read: text,
    default: null,
    defaultText: 'the first start creates one in the data folder',
    isSecret: true,
    describe: 'Encrypts stored secrets',
    page: 'secrets.md',
  }),
  replaceSecretKey: setting({
    name: 'replace_secret_key',
    read: bool,
    default: false,
    describe: 'Accepts another secret key than the one of the store; values of the earlier key stay unreadable',
    page: 'operations.md',
  }),
  withoutKeys: setting({
    name: 'without_keys',
    flag: {},
    read: bool,
    default: false,
    describe: 'Answers every request as the user `default`; only on loopback',
    page: 'keys.md',
  }),
  workspaceRoots: setting<ListedRoots | null>({
    name: 'workspace_roots',
    read: workspaceRoots,
    default: null,
    sharedDefault: { everyone: [], users: {} },
    defaultText: 'all that are not refused; in the mode `shared`, none',
    describe: 'Directories that requests may name as a working directory, or read and write',
    page: 'security.md',
  }),
  ui: setting({
    name: 'ui',
    read: bool,
    default: true,
    describe: 'Serves the web UI at `/`',
    page: 'security.md',
  }),
  corsOrigins: setting<string[]>({
    name: 'allow_cors_origins',
    env: ['OH_ALLOW_CORS_ORIGINS'],
    read: webOrigins,
    default: [],
    describe: 'Browser origins that may read answers, in addition to those on this machine',
    page: 'security.md',
  }),
  publicHosts: setting<string[]>({
    name: 'public_hosts',
    read: list,
    default: [],
    describe: 'Host names of this server besides addresses and `localhost`; `*.example.org` for all below, `*` for any',
    page: 'security.md',
  }),
  socketKeyInUrl: setting({
    name: 'socket_key_in_url',
    read: bool,
    default: true,
    describe: 'Accepts the key of a WebSocket in its URL, as existing clients send it',
    page: 'security.md',
  }),
  trustedProxies: setting<string[]>({
    name: 'trusted_proxies',
    read: networks,
    default: [],
    describe: 'Reverse proxies whose `X-Forwarded-For` names the client: addresses, or networks such as `10.0.0.0/8`',
    page: 'security.md',
  }),
  bodyLimitBytes: setting<number | null>({
    name: 'body_limit_bytes',
    read: integer(1024, 1024 * MIB),
    default: null,
    defaultText: 'that of the endpoint: 2 MiB, or 10 MiB with images or events',
    describe: 'Largest JSON body and largest frame of a socket, in bytes, for every endpoint',
    page: 'errors.md',
  }),
  idleUnloadMs: setting<number | null>({
    name: 'idle_unload_seconds',
    env: ['OH_CONVERSATION_IDLE_TTL_SECONDS'],
    read: secondsOrNever,
    default: 1200 * SECONDS,
    describe: 'Time after which an idle conversation leaves memory',
    print: (ms) => (ms === null ? 'never' : ms / SECONDS),
  }),
  runner: {
    orphanExitMs: setting({
      name: 'runner_orphan_exit_seconds',
      read: seconds,
      default: 900 * SECONDS,
      describe: 'Time after which a runner without a server ends its processes and itself',
      page: 'operations.md',
      print: (ms) => ms / SECONDS,
    }),
  },
  drainMs: setting({
    name: 'drain_seconds',
    read: secondsFrom(0, 3600),
    default: 30 * SECONDS,
    describe:
      'Longest time in which a server that ends gives its running conversations to the other servers on its database',
    page: 'operations.md',
    print: (ms) => ms / SECONDS,
  }),
  logLevel: setting<LogLevel>({
    name: 'log_level',
    flag: { value: 'LEVEL' },
    read: logLevel,
    default: 'info',
    describe: 'Least level of log lines',
    page: 'operations.md',
  }),
  maxConcurrentRuns: setting({
    name: 'max_concurrent_runs',
    env: ['OH_MAX_CONCURRENT_RUNS'],
    read: integer(1, 100_000),
    default: 64,
    describe: 'Runs at the same time; further runs wait',
  }),
  rateLimitPerMinute: setting({
    name: 'rate_limit_per_minute',
    read: integer(0, 1_000_000_000),
    default: 60_000,
    describe: 'Requests of one key in a minute; 0: no limit',
    page: 'security.md',
  }),
  userLimits: setting<ListedLimits>({
    name: 'user_limits',
    read: userLimits,
    default: { everyone: {}, users: new Map() },
    defaultText: 'those on the page in `shared`, none in `personal`',
    describe: 'What one user may use, such as `{"*": {"runs": 8}, "ann": {"runs": 0}}`; 0: no limit',
    page: 'quotas.md',
    print: printedLimits,
  }),
  llm: {
    model: setting<string | null>({
      name: 'llm_model',
      env: ['LLM_MODEL'],
      read: text,
      default: null,
      describe: 'Model of conversations that name none; the settings of a user go first',
      page: 'models.md',
    }),
    apiKey: setting<string | null>({
      name: 'llm_api_key',
      env: ['LLM_API_KEY'],
      read: text,
      default: null,
      isSecret: true,
      describe: 'Key for that model',
      page: 'models.md',
    }),
    baseUrl: setting<string | null>({
      name: 'llm_base_url',
      env: ['LLM_BASE_URL'],
      read: httpUrl,
      default: null,
      defaultText: 'that of the provider',
      describe: 'Base URL for that model',
      page: 'models.md',
    }),
  },
  searchUrl: setting({
    name: 'search_mcp_url',
    read: httpUrl,
    default: 'https://mcp.tavily.com/mcp/',
    describe: 'MCP server for web search; used only for users with a `search_api_key`',
    page: 'mcp.md',
  }),
  vendor: {
    apiKey: setting<string | null>({
      name: 'vendor_api_key',
      env: ['GRAYSWAN_API_KEY'],
      read: text,
      default: null,
      isSecret: true,
      describe: 'Key for the monitoring service of VendorAnalyzer; goes before the settings of a conversation',
      page: 'security-analyzers.md',
    }),
    policyId: setting<string | null>({
      name: 'vendor_policy_id',
      env: ['GRAYSWAN_POLICY_ID'],
      read: text,
      default: null,
      describe: 'Policy at the monitoring service',
      page: 'security-analyzers.md',
    }),
    apiUrl: setting<string | null>({
      name: 'vendor_api_url',
      read: httpUrl,
      default: null,
      defaultText: 'that of the vendor',
      describe: 'Address of the monitoring service',
      page: 'security-analyzers.md',
    }),
  },
  automation: {
    url: setting<string | null>({
      name: 'automation_callback_url',
      env: ['AUTOMATION_CALLBACK_URL'],
      read: httpUrl,
      default: null,
      describe: 'Address that is called when a run in a remote workspace ends',
      page: 'remote-workspace.md',
    }),
    apiKey: setting<string | null>({
      name: 'automation_callback_api_key',
      env: ['AUTOMATION_CALLBACK_API_KEY'],
      read: text,
      default: null,
      isSecret: true,
      describe: 'Bearer token of these calls, and key of their signature',
      page: 'remote-workspace.md',
    }),
    runId: setting<string | null>({
      name: 'automation_run_id',
      env: ['AUTOMATION_RUN_ID'],
      read: text,
      default: null,
      describe: 'Id that each of these calls repeats',
      page: 'remote-workspace.md',
    }),
  },
  audit: {
    file: setting<string | null>({
      name: 'audit_file',
      read: path,
      default: null,
      defaultText: 'none',
      describe: 'File to which every audit record is appended, outside of the data folder',
      page: 'audit.md',
    }),
    syslog: setting<SyslogAddress | null>({
      name: 'audit_syslog',
      read: syslogAddress,
      default: null,
      defaultText: 'none',
      describe: 'Syslog server to which every audit record is sent',
      page: 'audit.md',
      print: (address) => (address === null ? null : `${address.protocol}://${address.host}:${address.port}`),
    }),
  },
  webhooks: setting<WebhookTarget[]>({
    name: 'webhooks',
    env: ['OH_WEBHOOKS'],
    read: webhooks,
    default: [],
    describe: 'Targets of notifications and events',
    page: 'webhooks.md',
    print: (targets) => targets.map(({ base_url }) => base_url),
  }),
  webhookReceiverSecrets: setting<readonly string[]>({
    name: 'webhook_receiver_secrets',
    read: signingSecrets,
    default: [],
    isSecret: true,
    describe: 'Signing secrets of servers that send webhooks here; with one, every delivery must be signed',
    page: 'webhooks.md',
  }),
  secretLookupHosts: setting<readonly string[]>({
    name: 'secret_lookup_hosts',
    read: list,
    default: [],
    describe: 'Hosts, with or without a port, from which a LookupSecret may be read, in addition to this server',
    page: 'secrets.md',
  }),
  userEgress: setting<readonly string[]>({
    name: 'user_egress',
    read: egressRules,
    default: ['any'],
    sharedDefault: ['public'],
    defaultText: '`any` in the mode `personal`, `public` in the mode `shared`',
    describe:
      'Addresses to which the server sends requests for its users: `public`, `any`, hosts as in `sandbox_network`, networks such as `10.0.0.0/8`',
    page: 'security.md',
  }),
  starts: {
    hosts: setting<Required<StartSources>['hosts']>({
      name: 'git_hosts',
      read: gitHosts,
      default: {},
      defaultText: 'the public hosts',
      describe: 'Base addresses of git hosts',
      page: 'new-conversation.md',
      print: JSON.stringify,
    }),
    trusted: setting<readonly string[]>({
      name: 'trusted_repositories',
      read: list,
      default: [],
      describe: 'Repositories whose set-up scripts are run',
      page: 'new-conversation.md',
    }),
    deadlines: setting<Required<StartSources>['deadlines']>({
      name: 'start_deadlines',
      read: deadlines,
      default: {},
      defaultText: 'those on the page',
      describe: 'Time limits of the phases of a start',
      page: 'new-conversation.md',
      print: JSON.stringify,
    }),
  },
  trustedHooks: setting<readonly string[]>({
    name: 'trusted_hooks',
    read: list,
    default: [],
    describe:
      'Projects whose `.openhands/hooks.json` and commands in skills are used: `github.com/acme/*`, or absolute paths',
    page: 'hooks.md',
  }),
  trustedMcpServers: setting<readonly string[]>({
    name: 'trusted_mcp_servers',
    read: list,
    default: [],
    describe: 'MCP servers whose annotations of their own tools count: addresses without query, or whole command lines',
    page: 'mcp.md',
  }),
  shell: {
    setup: setting<string | null>({
      name: 'shell_setup',
      read: path,
      default: null,
      defaultText: 'none',
      describe: 'File that shells of agents read first, such as one that activates an environment',
      page: 'operations.md',
    }),
    passed: setting<string[]>({
      name: 'pass_environment',
      read: variableNames,
      default: [],
      describe:
        'Variables of the server that commands of agents get besides the usual ones; `NAME_*` stands for all that begin so',
      page: 'operations.md',
    }),
  },
  agents: {
    keptResultTokens: setting({
      name: 'kept_result_tokens',
      read: integer(0, 10_000_000),
      default: 40_000,
      describe:
        'Tokens of the newest tool results that requests to a model always contain; 0: older ones are never left out',
      page: 'condensation.md',
    }),
    prunedResultTokens: setting({
      name: 'pruned_result_tokens',
      read: integer(1, 10_000_000),
      default: 20_000,
      describe: 'Tokens that leaving out older tool results has to save',
      page: 'condensation.md',
    }),
    callSummaries: setting({
      name: 'call_summaries',
      read: bool,
      default: true,
      describe: 'Asks models for a summary of each call, which clients show',
      page: 'tools.md',
    }),
    toolsByModel: setting({
      name: 'tools_by_model',
      read: bool,
      default: true,
      describe: 'Agents whose settings name no tools get those that their model was trained on',
      page: 'tools.md',
    }),
    checkEdits: setting({
      name: 'check_edits',
      read: bool,
      default: true,
      describe: 'Adds a line to the result of an edit when the file then has a syntax error',
      page: 'tools.md',
    }),
  },
  chromium: setting<string | null>({
    name: 'chromium',
    read: path,
    default: null,
    defaultText: 'the installed Chromium',
    describe: 'Browser of agents',
    page: 'tools.md',
  }),
  sandbox: {
    mode: setting<SandboxPolicy['mode']>({
      name: 'sandbox',
      read: sandboxMode,
      default: 'auto',
      sharedDefault: 'required',
      describe: 'Runs commands of agents in a sandbox; `auto` where the machine supports it',
      page: 'security.md',
    }),
    network: setting<Network>({
      name: 'sandbox_network',
      read: network,
      default: true,
      describe: 'Network of the sandbox: all, none, or the listed hosts, such as `github.com,*.npmjs.org`',
      page: 'security.md',
    }),
    processes: setting({
      name: 'sandbox_processes',
      read: integer(16, 4_000_000),
      default: 4096,
      describe:
        'Processes and threads of a conversation in the sandbox, or of each of its programs without a control group',
      page: 'security.md',
    }),
    memoryBytes: setting<number | null>({
      name: 'sandbox_memory_bytes',
      read: integer(16 * MIB, Number.MAX_SAFE_INTEGER),
      default: null,
      defaultText: 'three quarters of the memory, where there are control groups',
      describe: 'Memory of a conversation in the sandbox, or of each of its processes without a control group',
      page: 'security.md',
    }),
    toolchains: setting<string[]>({
      name: 'sandbox_toolchains',
      read: paths,
      default: [],
      describe:
        'Directories of programs that the sandbox shows read-only besides those of the system and of version managers',
      page: 'security.md',
    }),
  },
}

function defaultDataDir({ env, home }: ConfigSources): string {
  const shared = env['XDG_DATA_HOME']
  // The XDG specification requires that a relative path in this variable is ignored.
  return shared !== undefined && isAbsolute(shared) ? join(shared, 'parley') : join(home, '.parley')
}

/** The values in the shape of the rows. */
export type ValuesOf<R> = { [K in keyof R]: R[K] extends Setting<infer T> ? T : ValuesOf<R[K]> }

type Rows = { readonly [key: string]: Setting | Rows }

const isRow = (node: Setting | Rows): node is Setting => typeof node['name'] === 'string'

/** Replaces each row by what `value` returns for it, in the order of the rows. */
export function mapRows<R extends Rows>(rows: R, value: (row: Setting) => unknown): ValuesOf<R> {
  const entries = Object.entries(rows).map(([key, node]) => [key, isRow(node) ? value(node) : mapRows(node, value)])
  return Object.fromEntries(entries) as ValuesOf<R>
}

/** Each row with its value in `values`, in the order of the rows. */
export function withValues(values: unknown, rows: Rows = SETTINGS): { row: Setting; value: unknown }[] {
  return Object.entries(rows).flatMap(([key, node]) => {
    const value = (values as Record<string, unknown> | undefined)?.[key]
    return isRow(node) ? [{ row: node, value }] : withValues(value, node)
  })
}

/** All rows, in order. */
export const ROWS: readonly Setting[] = withValues(undefined).map(({ row }) => row)

/** Environment names of a setting, the first one first in precedence. */
export const envNames = ({ name, env = [] }: Setting): string[] => [`PARLEY_${name.toUpperCase()}`, ...env]

export const flagName = ({ name }: Setting): string => name.replaceAll('_', '-')

/** The flags of the settings, and `--config`. */
export function configFlags(): Record<string, Flag> {
  const flags = ROWS.flatMap((row): [string, Flag][] => {
    if (row.flag === undefined) return []
    const isSwitch = row.read === (bool as Reader<unknown>)
    const otherwise = row.defaultText?.replaceAll('`', '') ?? String(row.default)
    const about = `${row.describe.replaceAll('`', '')}${isSwitch ? '' : ` (default ${otherwise})`}`
    return [[flagName(row), { type: isSwitch ? 'boolean' : 'string', ...row.flag, about }]]
  })
  return { ...Object.fromEntries(flags), config: { type: 'string', value: 'FILE', about: 'JSON file with settings' } }
}
