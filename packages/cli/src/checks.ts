/** The checks of `parley doctor`: one function per requirement, each with a remedy. None leaves files behind. */
import { execFile } from 'node:child_process'
import { constants } from 'node:fs'
import { access, mkdir, mkdtemp, rm, rmdir, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { hasShortKey, MIN_KEY_CHARS, openPreflight, type Config } from '@parley/server'
import { runningServer } from './connect.ts'

export type Finding = { level: 'ok' | 'warn' | 'fail'; says: string; remedy?: string }
export type Place = { config: Config; env: Readonly<Record<string, string | undefined>> }
export type Check = (place: Place) => Promise<Finding>

/** Bytes. The kernel allows 104 to 108 for the path of a socket, and the file name follows the folder. */
const LONGEST_SOCKET_FOLDER = 80

const run = promisify(execFile)

/** Permissions that no other account should have on a directory of the server. The account of commands enters it, to reach its files. */
const othersOf = ({ runnerUser }: Config): number => (runnerUser === null ? 0o077 : 0o067)

/** In the order they are printed. */
export const CHECKS: readonly (readonly [name: string, check: Check])[] = [
  ['node', node],
  ['data directory', dataDirectory],
  ['store', store],
  ['terminal', terminal],
  ['bash', program('bash', ['--version'], 'fail', 'agents run their commands in it; install bash')],
  ['git', program('git', ['--version'], 'warn', 'needed for repositories and worktrees; install git')],
  ['isolation', isolation],
  ['processes', processes],
  ['keys', keys],
  ['users', users],
  ['port', port],
  ['runner socket', runnerSocket],
  ['model', model],
]

async function node(): Promise<Finding> {
  const says = `Node ${process.versions.node}`
  if (Number.parseInt(process.versions.node, 10) >= 24) return { level: 'ok', says }
  return {
    level: 'fail',
    says: `${says} is too old`,
    remedy: 'Parley needs Node 24 or later; install it from https://nodejs.org',
  }
}

async function keys({ config }: Place): Promise<Finding> {
  const { sessionApiKeys, withoutKeys } = config
  if (withoutKeys) return { level: 'ok', says: 'none are asked for on this machine (without_keys)' }
  if (!hasShortKey(config)) return { level: 'ok', says: `${sessionApiKeys.length} configured` }
  return {
    level: 'warn',
    says: `a configured key has fewer than ${MIN_KEY_CHARS} characters and can be guessed`,
    remedy: 'use a longer one, such as the output of: openssl rand -hex 32',
  }
}

/** Users of issued keys, and `default` if the environment has keys. */
async function users({ config: { dataDir, databaseUrl, mode, sessionApiKeys } }: Place): Promise<Finding> {
  const { probeDatabase, storedUsers } = await openPreflight()
  const stored =
    databaseUrl === null ? storedUsers(join(dataDir, 'parley.db')) : (await probeDatabase(databaseUrl)).users
  const names = new Set([...stored, ...(sessionApiKeys.length > 0 ? ['default'] : [])])
  const says = names.size === 0 ? 'none yet' : `${[...names].join(', ')}`
  if (mode === 'shared' || names.size < 2) return { level: 'ok', says }
  return {
    level: 'warn',
    says: `${says}: the mode personal is for one user, and does not isolate them from each other`,
    remedy: 'set PARLEY_MODE=shared, or delete all users but one',
  }
}

/** The conditions of the mode: of the configured one, and those that `shared` has in addition. */
export type ModeFindings = Record<'own' | 'shared', [name: string, Finding][]>

/** @param shared the configuration as it would be in the mode `shared` */
export async function modeFindings({ config, env }: Place, shared: Config): Promise<ModeFindings> {
  const { findConditions } = await openPreflight()
  const own = await findConditions(config.mode, config, env['PATH'])
  const all = await findConditions('shared', shared, env['PATH'])
  const more = all.filter(({ name }) => !own.some((each) => each.name === name))
  const asFindings = (conditions: typeof own, otherwise: 'warn' | 'fail') =>
    conditions.map(({ name, says, remedy }): [string, Finding] => [
      name,
      remedy === null ? { level: 'ok', says } : { level: otherwise, says, remedy },
    ])
  return { own: asFindings(own, 'fail'), shared: asFindings(more, 'warn') }
}

async function dataDirectory({ config }: Place): Promise<Finding> {
  const { dataDir } = config
  const found = await stat(dataDir).catch(() => null)
  if (found === null) return willBeMade(dataDir)
  if (!found.isDirectory())
    return { level: 'fail', says: `${dataDir} is not a directory`, remedy: 'name another with --data-dir' }
  try {
    await access(dataDir, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch {
    return {
      level: 'fail',
      says: `${dataDir} cannot be written`,
      remedy: `chown it to this user, or name another with --data-dir`,
    }
  }
  const mode = found.mode & 0o777
  const says = `${dataDir}, mode ${mode.toString(8)}`
  if ((mode & othersOf(config)) === 0 || process.platform === 'win32') return { level: 'ok', says }
  return { level: 'warn', says: `${says}: other users of this machine can look in`, remedy: `chmod 700 ${dataDir}` }
}

async function willBeMade(dataDir: string): Promise<Finding> {
  let parent = dirname(dataDir)
  while ((await stat(parent).catch(() => null)) === null && parent !== dirname(parent)) parent = dirname(parent)
  try {
    await access(parent, constants.W_OK | constants.X_OK)
    return { level: 'ok', says: `${dataDir} will be made at the first start` }
  } catch {
    return {
      level: 'fail',
      says: `${dataDir} cannot be made: ${parent} cannot be written`,
      remedy: 'name another with --data-dir',
    }
  }
}

async function store({ config }: Place): Promise<Finding> {
  return config.databaseUrl === null ? sqlite(config) : database(config.databaseUrl)
}

async function database(url: string): Promise<Finding> {
  const { name, version } = await (await openPreflight()).probeDatabase(url)
  return { level: 'ok', says: `PostgreSQL ${version}, ${name}` }
}

/** What a start needs of a database that answers; none of one that does not, which the check of the store reports. */
export async function databaseFindings(url: string): Promise<Finding[]> {
  const { examineDatabase } = await openPreflight()
  const found = await examineDatabase(url).catch(() => [])
  return found.map(({ remedy, ...finding }) => (remedy === null ? finding : { ...finding, remedy }))
}

/** Opens a temporary store beside the real one, because a network file system often lacks what WAL needs. */
async function sqlite({ dataDir }: Config): Promise<Finding> {
  const { probeSqlite } = await openPreflight()
  return inScratch(dataDir, async (scratch) => {
    const { version, journalMode } = probeSqlite(join(scratch, 'doctor.db'))
    if (journalMode === 'wal') return { level: 'ok', says: `SQLite ${version}, write-ahead log works` }
    return {
      level: 'fail',
      says: `SQLite ${version} could not open a write-ahead log in ${dataDir} (got ${journalMode})`,
      remedy: 'use a data directory on a local disk',
    }
  })
}

/** Runs `work` in a folder inside the data directory and removes the folders that it had to create. */
async function inScratch<T>(dataDir: string, work: (scratch: string) => Promise<T>): Promise<T> {
  const made = await mkdir(dataDir, { recursive: true, mode: 0o700 })
  try {
    const scratch = await mkdtemp(join(dataDir, 'doctor-'))
    try {
      return await work(scratch)
    } finally {
      await rm(scratch, { recursive: true, force: true })
    }
  } finally {
    if (made !== undefined) await removeEmpty(dataDir, made)
  }
}

/** Removes folders from `from` up to `to`; a folder that is no longer empty remains. */
async function removeEmpty(from: string, to: string): Promise<void> {
  for (let folder = from; ; folder = dirname(folder)) {
    const isGone = await rmdir(folder).then(
      () => true,
      () => false,
    )
    if (!isGone || folder === to) return
  }
}

async function terminal(): Promise<Finding> {
  const failed = (message: string): Finding => ({
    level: 'fail',
    says: `no terminal can be opened: ${message}`,
    remedy: 'reinstall Parley on this machine; the terminal part is built per platform',
  })
  try {
    const code = await (await openPreflight()).probeTerminal()
    return code === 7
      ? { level: 'ok', says: 'a terminal opens and closes' }
      : failed(`the shell in it ended with ${code}`)
  } catch (error) {
    return failed((error as Error).message)
  }
}

function program(name: string, args: readonly string[], otherwise: 'warn' | 'fail', remedy: string): Check {
  return async ({ env }) => {
    try {
      const { stdout } = await run(name, args, { env: { ...env }, timeout: 5000 })
      return { level: 'ok', says: stdout.split('\n')[0]! }
    } catch (error) {
      const says =
        (error as NodeJS.ErrnoException).code === 'ENOENT'
          ? `${name} is not in PATH`
          : (error as Error).message.split('\n')[0]!
      return { level: otherwise, says, remedy }
    }
  }
}

/** Searches the PATH of this command, independent of the configuration, which may be about to change. */
async function isolation({ config: { sandbox }, env }: Place): Promise<Finding> {
  const open = 'commands of an agent can do what this user can do'
  const { describeNetwork, findBubblewrap } = await openPreflight()
  const found = await findBubblewrap(env['PATH'] ?? '')
  if ('path' in found) {
    if (sandbox.mode !== 'off') return { level: 'ok', says: `bubblewrap, ${describeNetwork(sandbox.network)}` }
    return { level: 'warn', says: `bubblewrap works here but is off: ${open}`, remedy: 'set PARLEY_SANDBOX=auto' }
  }
  const { reason, remedy } = found
  if (sandbox.mode !== 'required') return { level: 'warn', says: `${reason}: ${open}`, remedy }
  return { level: 'fail', says: `${reason}, and no command is started without a sandbox`, remedy }
}

/** How the processes of a conversation are found when it ends. */
async function processes(): Promise<Finding> {
  const { level, reason } = (await openPreflight()).probeProcessTracking()
  if (level === 'cgroup') return { level: 'ok', says: 'each conversation has a control group' }
  return {
    level: 'warn',
    says: `${reason}: a command can leave processes that survive its conversation`,
    remedy: 'set PARLEY_SANDBOX=auto, or run Parley where it owns its cgroup, such as a systemd unit with Delegate=yes',
  }
}

async function port({ config: { host, port: wanted, dataDir } }: Place): Promise<Finding> {
  const name = `${host}:${wanted}`
  try {
    const server = createServer()
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(wanted, host, resolve)
    })
    await new Promise((resolve) => server.close(resolve))
    return { level: 'ok', says: wanted === 0 ? 'any free port of this machine' : `${name} is free` }
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    const own = code === 'EADDRINUSE' ? await runningServer(dataDir) : null
    if (own !== null && new URL(own.url).port === String(wanted))
      return { level: 'ok', says: `Parley already listens on ${own.url} (process ${own.pid})` }
    const says = code === 'EADDRINUSE' ? `${name} is taken` : `${name} cannot be used: ${(error as Error).message}`
    return { level: 'fail', says, remedy: 'choose another with --host and --port; --port 0 takes any free one' }
  }
}

/** Folder of the socket under /tmp, for a data directory whose path is too long for a socket address. */
async function runnerSocket({ config }: Place): Promise<Finding> {
  const folder = join(config.dataDir, 'runner')
  const length = Buffer.byteLength(folder)
  if (length > LONGEST_SOCKET_FOLDER) {
    return { level: 'ok', says: `in a folder under /tmp, because ${length} bytes of path are too many for a socket` }
  }
  const found = await stat(folder).catch(() => null)
  const isPrivate = found === null || (found.isDirectory() && (found.mode & othersOf(config)) === 0)
  if (isPrivate) return { level: 'ok', says: `in ${folder}` }
  return { level: 'fail', says: `${folder} can be entered by other users`, remedy: `chmod 700 ${folder}` }
}

/** For information only: settings and conversations can name a model too, and a local model needs no key. */
async function model({ config: { llm } }: Place): Promise<Finding> {
  if (llm.model !== null) return { level: 'ok', says: `${llm.model}, ${llm.apiKey === null ? 'no key' : 'with a key'}` }
  return {
    level: 'ok',
    says: 'none configured; set LLM_MODEL and LLM_API_KEY, or send settings. "parley demo" needs none',
  }
}
