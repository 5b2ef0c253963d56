/**
 * The exclusive lock of a data directory: one server at a time writes to it.
 *
 * The lock is SQLite's lock on a file of its own. The kernel releases it when the process ends for any reason, so a killed server
 * blocks no successor, and no pid is believed. Nothing else may open the file: closing any descriptor of it would release the lock.
 */
import { existsSync } from 'node:fs'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { ParleyError } from '@parley/protocol'
import { isLocked } from './sqlite/failures.ts'

/** The lock of a data directory, held until it is disposed. */
export type DataDirLock = AsyncDisposable & {
  /** Publishes the address of this server in `server.json`. */
  listensAt(url: string): Promise<void>
}

/** Folder in a data directory into which a backup is being restored, until its content is in place. */
export const RESTORING = 'restoring'

/** Content of `server.json`. `url` is null until the server listens. */
type Notice = { url: string | null; pid: number }

/**
 * Locks a data directory, which must exist, for this process.
 * @throws ParleyError `conflict` with pid and address of the server that holds it, or when a restore into the directory was cut off.
 * Source: operations.md, The data directory.
 */
export async function lockDataDir(dataDir: string): Promise<DataDirLock> {
  if (existsSync(join(dataDir, RESTORING))) throw halfRestored(dataDir)
  const path = join(dataDir, 'server.lock')
  const notice = join(dataDir, 'server.json')
  const lock = new DatabaseSync(path, { timeout: 0 })
  try {
    // The transaction stays open and writes nothing, so the lock lasts as long as the connection.
    lock.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    lock.close()
    throw isLocked(error) ? inUse(dataDir, await readNotice(notice)) : error
  }
  const write = (url: string | null) =>
    writeFile(notice, JSON.stringify({ url, pid: process.pid } satisfies Notice), { mode: 0o600 })
  // At once, so that a refusal never names a server that was killed.
  await write(null)
  let isHeld = true
  return {
    listensAt: write,
    async [Symbol.asyncDispose]() {
      if (!isHeld) return
      isHeld = false
      await rm(notice, { force: true })
      lock.close()
    },
  }
}

const halfRestored = (dataDir: string): ParleyError =>
  new ParleyError(
    'conflict',
    `a restore into the data directory ${dataDir} was cut off or is in progress; if it was cut off, empty the directory and run parley restore again`,
    { details: { data_dir: dataDir } },
  )

function inUse(dataDir: string, notice: Notice | null): ParleyError {
  const holder = notice === null ? 'another server' : `the server with pid ${notice.pid}`
  const at = notice === null || notice.url === null ? '' : ` at ${notice.url}`
  const message = `the data directory ${dataDir} is in use by ${holder}${at}; stop that server, or name another directory with --data-dir`
  return new ParleyError('conflict', message, { details: { data_dir: dataDir, pid: notice?.pid ?? null } })
}

/** Null when the other server is just starting or ending. */
async function readNotice(path: string): Promise<Notice | null> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Notice
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}
