/** The configuration of the process, read once: flags over environment over one JSON file. Nothing here reads `process.env`. */
import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { ConfigError } from './error.ts'
import { isLoopback } from './loopback.ts'
import { pickVariables } from './pick-variables.ts'
import { hasShortKey, MIN_KEY_CHARS } from './short-keys.ts'
import {
  type ConfigSources,
  envNames,
  flagName,
  mapRows,
  ROWS,
  type Setting,
  SETTINGS,
  type ValuesOf,
  withValues,
} from './settings.ts'
import { type Given, path } from './values.ts'
import type { CallbackTarget } from '../workspace/index.ts'

type Values = ValuesOf<typeof SETTINGS>

export type Config = Omit<Values, 'automation'> & {
  /** Receiver of callbacks about runs in remote workspaces; null: none. Source: interface.md, Workspace variants. */
  automation: CallbackTarget | null
  /** Home folder of the account that runs the server. */
  home: string
  /** The variables that `pass_environment` names, with their values. */
  passedVariables: Readonly<Record<string, string>>
  /** Absolute path of the file with settings; null: none. */
  file: string | null
}

/** The origin of each value, by the name of its setting: `--port`, `PARLEY_PORT`, `parley.json: port`, `default`. */
export type ConfigOrigins = Readonly<Record<string, string>>

export type ReadConfig = {
  config: Config
  origins: ConfigOrigins
}

/**
 * Reads all settings.
 * @throws ConfigError for an unusable value, an unreadable file, an unknown member of the file, no keys or a short key off loopback.
 */
export function readConfig(sources: ConfigSources): ReadConfig {
  const file = readFile(sources)
  const origins: Record<string, string> = {}
  const givenMode = find(SETTINGS.mode as Setting, sources, file)
  const isShared = givenMode !== undefined && SETTINGS.mode.read.read(givenMode, sources.home) === 'shared'
  const values = mapRows(SETTINGS, (row) => {
    const given = find(row, sources, file)
    origins[row.name] = given?.origin ?? 'default'
    if (given !== undefined) return row.read.read(given, sources.home)
    if (isShared && row.sharedDefault !== undefined) return row.sharedDefault
    return typeof row.default === 'function' ? (row.default as (from: ConfigSources) => unknown)(sources) : row.default
  })
  const { automation, ...rest } = values
  const config: Config = {
    ...rest,
    automation: automation.url === null ? null : { ...automation, url: automation.url },
    home: sources.home,
    passedVariables: pickVariables(sources.env, rest.shell.passed, isSetting),
    file: file.path === '' ? null : file.path,
  }
  if (config.ephemeral && config.databaseUrl !== null) {
    throw new ConfigError(
      `${origins['ephemeral']} keeps conversations in memory, but ${origins['database_url']} names a database; remove one of the two`,
    )
  }
  if (config.withoutKeys && config.sessionApiKeys.length > 0) {
    throw new ConfigError(
      `${origins['without_keys']} asks for no keys, but ${origins['session_api_keys']} gives some; remove one of the two`,
    )
  }
  if (config.withoutKeys && !isLoopback(config.host)) {
    throw new ConfigError(
      `running without keys is allowed on loopback only, and host is ${config.host} (${origins['host']}); ` +
        `use 127.0.0.1, or remove ${origins['without_keys']}`,
    )
  }
  if (hasShortKey(config) && !isLoopback(config.host)) {
    throw new ConfigError(
      `${origins['session_api_keys']} holds a key with fewer than ${MIN_KEY_CHARS} characters, which can be guessed, ` +
        `and host is ${config.host} (${origins['host']}); use a longer key, such as the output of: openssl rand -hex 32`,
    )
  }
  return { config, origins }
}

/** One line per setting: name, value, origin. Secrets show only whether they are set. */
export function describeConfig(config: Config, origins: ConfigOrigins): string[] {
  const automation = config.automation ?? { url: null, apiKey: null, runId: null }
  const rows = withValues({ ...config, automation }).map(({ row, value }) => [
    row.name,
    show(row, value),
    origins[row.name]!,
  ])
  const width = (column: number) => Math.max(...rows.map((row) => row[column]!.length))
  return rows.map(([name, value, origin]) => `${name!.padEnd(width(0))}  ${value!.padEnd(width(1))}  ${origin}`)
}

const SETTING_NAMES: ReadonlySet<string> = new Set(
  ROWS.flatMap((row) => [...envNames(row), ...(row.envItem === undefined ? [] : [row.envItem])]),
)

/** True for variables of the server itself, which may hold its keys. */
const isSetting = (name: string): boolean => SETTING_NAMES.has(name) || /^(?:PARLEY|OH)_/.test(name)

function show(row: Setting, read: unknown): string {
  const { isSecret = false } = row
  const value = row.print === undefined ? read : row.print(read)
  if (Array.isArray(value)) {
    if (value.length === 0) return 'none'
    return isSecret ? `${value.length} set, hidden` : value.join(', ')
  }
  if (value === null) return 'not set'
  if (isSecret) return 'set, hidden'
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function find(row: Setting, { flags, env, cwd }: ConfigSources, file: File): Given | undefined {
  const flag = flagName(row)
  const flagged = row.flag === undefined ? undefined : flags[flag]
  if (flagged !== undefined) return { value: flagged, origin: `--${flag}`, base: cwd }
  for (const name of envNames(row)) {
    // An empty variable counts as unset: compose files and unit files leave a variable out in this way.
    const value = env[name]
    if (value !== undefined && value !== '') return { value, origin: name, base: cwd }
    const numbered = row.read.numbered?.(env, name) ?? []
    if (numbered.length > 0) return { value: numbered, origin: `${name}_0…`, base: cwd }
  }
  const item = row.envItem === undefined ? undefined : env[row.envItem]
  if (item !== undefined && item !== '') return { value: [item], origin: row.envItem!, base: cwd }
  if (!(row.name in file.members)) return undefined
  return { value: file.members[row.name], origin: `${file.path}: ${row.name}`, base: dirname(file.path) }
}

type File = { path: string; members: Record<string, unknown> }

function readFile({ flags, env, cwd, home }: ConfigSources): File {
  const flag = flags['config']
  const given = typeof flag === 'string' ? flag : env['PARLEY_CONFIG']
  const origin = typeof flag === 'string' ? '--config' : 'PARLEY_CONFIG'
  if (given === undefined || given === '') return { path: '', members: {} }
  const file = path.read({ value: given, origin, base: cwd }, home)
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
  const known = ROWS.map(({ name }) => name)
  const unknown = Object.keys(members).find((name) => !known.includes(name))
  if (unknown !== undefined) {
    throw new ConfigError(`${file} has an unknown member "${unknown}"; known are ${known.join(', ')}`)
  }
  return { path: file, members: members as Record<string, unknown> }
}
