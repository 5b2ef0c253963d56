/** What `parley doctor` looks at: one function per need, each with the way out. None of them leaves anything behind. */
import { execFile } from 'node:child_process'
import { constants } from 'node:fs'
import { access, mkdir, mkdtemp, rm, rmdir, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { openPreflight, type Config } from '@parley/server'
import { runningServer } from './connect.ts'

export type Finding = { level: 'ok' | 'warn' | 'fail'; says: string; wayOut?: string }
export type Place = { config: Config; env: Readonly<Record<string, string | undefined>> }
export type Check = (place: Place) => Promise<Finding>

/** Bytes; the kernel keeps 104 to 108 for a socket's path, and a name comes behind the folder. */
const LONGEST_SOCKET_FOLDER = 80

const run = promisify(execFile)

/** In the order they are printed. */
export const CHECKS: readonly (readonly [name: string, check: Check])[] = [
  ['node', node],
  ['data directory', dataDirectory],
  ['sqlite', sqlite],
  ['terminal', terminal],
  ['bash', program('bash', ['--version'], 'fail', 'agents run their commands in it; install bash')],
  ['git', program('git', ['--version'], 'warn', 'needed for repositories and worktrees; install git')],
  ['isolation', isolation],
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
    wayOut: 'Parley needs Node 24 or later; install it from https://nodejs.org',
  }
}

async function dataDirectory({ config: { dataDir } }: Place): Promise<Finding> {
  const found = await stat(dataDir).catch(() => null)
  if (found === null) return willBeMade(dataDir)
  if (!found.isDirectory())
    return { level: 'fail', says: `${dataDir} is not a directory`, wayOut: 'name another with --data-dir' }
  try {
    await access(dataDir, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch {
    return {
      level: 'fail',
      says: `${dataDir} cannot be written`,
      wayOut: `chown it to this user, or name another with --data-dir`,
    }
  }
  const mode = found.mode & 0o777
  const says = `${dataDir}, mode ${mode.toString(8)}`
  if ((mode & 0o077) === 0 || process.platform === 'win32') return { level: 'ok', says }
  return { level: 'warn', says: `${says}: other users of this machine can look in`, wayOut: `chmod 700 ${dataDir}` }
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
      wayOut: 'name another with --data-dir',
    }
  }
}

/** Opens a store of its own next to where the real one will be: a network file system often cannot do what WAL needs. */
async function sqlite({ config: { dataDir } }: Place): Promise<Finding> {
  const { probeSqlite } = await openPreflight()
  return inScratch(dataDir, async (scratch) => {
    const { version, journalMode } = probeSqlite(join(scratch, 'doctor.db'))
    if (journalMode === 'wal') return { level: 'ok', says: `SQLite ${version}, write-ahead log works` }
    return {
      level: 'fail',
      says: `SQLite ${version} could not open a write-ahead log in ${dataDir} (got ${journalMode})`,
      wayOut: 'use a data directory on a local disk',
    }
  })
}

/** Works in a folder inside the data directory; one that had to be made for it is removed again. */
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

/** From `from` up to `to`; a folder that somebody has used in the meantime stays. */
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
    wayOut: 'reinstall Parley on this machine; the terminal part is built per platform',
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

function program(name: string, args: readonly string[], otherwise: 'warn' | 'fail', wayOut: string): Check {
  return async ({ env }) => {
    try {
      const { stdout } = await run(name, args, { env: { ...env }, timeout: 5000 })
      return { level: 'ok', says: stdout.split('\n')[0]! }
    } catch (error) {
      const says =
        (error as NodeJS.ErrnoException).code === 'ENOENT'
          ? `${name} is not in PATH`
          : (error as Error).message.split('\n')[0]!
      return { level: otherwise, says, wayOut }
    }
  }
}

/** Looks with the search path of this command, whatever the configuration says, because it may be about to be changed. */
async function isolation({ config: { sandbox }, env }: Place): Promise<Finding> {
  const open = 'commands of an agent can do what this user can do'
  const { describeNetwork, findBubblewrap } = await openPreflight()
  const found = await findBubblewrap(env['PATH'] ?? '')
  if ('path' in found) {
    if (sandbox.mode !== 'off') return { level: 'ok', says: `bubblewrap, ${describeNetwork(sandbox.network)}` }
    return { level: 'warn', says: `bubblewrap works here but is off: ${open}`, wayOut: 'set PARLEY_SANDBOX=auto' }
  }
  const wayOut = 'install bubblewrap and allow user namespaces, or run Parley in a container'
  if (sandbox.mode !== 'required') return { level: 'warn', says: `${found.reason}: ${open}`, wayOut }
  return { level: 'fail', says: `${found.reason}, and no command is started without a sandbox`, wayOut }
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
    return { level: 'fail', says, wayOut: 'choose another with --host and --port; --port 0 takes any free one' }
  }
}

/** Where the name of the data directory is too long for a socket's address, the socket stands in a folder under /tmp. */
async function runnerSocket({ config: { dataDir } }: Place): Promise<Finding> {
  const folder = join(dataDir, 'runner')
  const length = Buffer.byteLength(folder)
  if (length > LONGEST_SOCKET_FOLDER) {
    return { level: 'ok', says: `in a folder under /tmp, because ${length} bytes of path are too many for a socket` }
  }
  const found = await stat(folder).catch(() => null)
  const isPrivate = found === null || (found.isDirectory() && (found.mode & 0o077) === 0)
  if (isPrivate) return { level: 'ok', says: `in ${folder}` }
  return { level: 'fail', says: `${folder} can be entered by other users`, wayOut: `chmod 700 ${folder}` }
}

/** Only for information: settings or a conversation can bring a model too, and a local one needs no key. */
async function model({ config: { llm } }: Place): Promise<Finding> {
  if (llm.model !== null) return { level: 'ok', says: `${llm.model}, ${llm.apiKey === null ? 'no key' : 'with a key'}` }
  return {
    level: 'ok',
    says: 'none configured; set LLM_MODEL and LLM_API_KEY, or send settings. "parley demo" needs none',
  }
}
