/** Operations on files of this machine: the real path is decided first, and used through the handle of its directory. */
import { randomBytes } from 'node:crypto'
import { constants, type Dirent, type Stats } from 'node:fs'
import { lstat, open, readdir, rename, rm, rmdir, unlink, type FileHandle } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { ParleyError } from '@parley/protocol'
import { syncFolders } from '../lib/index.ts'
import { denied, expectAllowed, type Account } from './account/account.ts'
import { asParleyError, nullIfMissing } from './file-errors.ts'
import { FolderHandle, PathMoved } from './roots/folder-handle.ts'
import type { FileStat } from './workspace.ts'

/** Attempts at a path that is exchanged while it is used. */
const ATTEMPTS = 3
/** O_NONBLOCK: a special file that waits for data fails instead of blocking. */
const READ = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW

/** A path of a caller, and the decision about its real path, which is repeated when the path changes meanwhile. */
export type Target = {
  path: string
  /** The account whose permissions count, and to which new files belong; null: that of this process. */
  account: Account | null
  /** The real path. @throws when it may not be used. */
  real: () => Promise<string>
}

/** Follows symlinks. Returns null when nothing exists there. */
export async function statFile(target: Target): Promise<FileStat | null> {
  return inFolder(target, async (folder, name) => {
    const found = await lstat(folder.at(name))
    expectNoLink(found, target)
    return statOf(found)
  }).catch(nullIfNotFound)
}

/** The real path; null when nothing exists there. */
export async function realPathOf(target: Target): Promise<string | null> {
  const real = await target.real()
  return (await statFile({ ...target, real: async () => real })) === null ? null : real
}

/** Opens a file for reading. The caller closes it. */
export const openToRead = (target: Target): Promise<FileHandle> =>
  inFolder(target, (folder, name) => openEntry(folder, name, target.account))

/** Opens an entry of a folder for reading, never what a link there leads to. The caller closes it. */
export async function openEntry(folder: FolderHandle, name: string, account: Account | null): Promise<FileHandle> {
  const file = await open(folder.at(name), READ).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'ELOOP' ? new PathMoved(name) : error
  })
  try {
    if (account !== null) expectAllowed(account, await file.stat(), 'read', name)
    return file
  } catch (error) {
    await file.close()
    throw error
  }
}

export async function readWhole(target: Target, signal: AbortSignal): Promise<Uint8Array> {
  await using file = await openToRead(target)
  return await asParleyError(target.path, () => file.readFile({ signal }))
}

/**
 * Replaces a file atomically: a reader sees the old content or the new. A symlink is followed and stays a symlink
 * (agent-core.md 8.3); the mode of an existing file is kept, and the umask applies to a new one. Resolves when it is on disk, so
 * that no power cut undoes an edit that was reported.
 */
export async function writeWhole(target: Target, data: Uint8Array, signal: AbortSignal): Promise<void> {
  await replaceFile(target, (file) => file.writeFile(data, { signal }))
}

/** `writeWhole` for content of any length, which `fill` writes. When `fill` fails, the old content stays. */
export async function replaceFile(target: Target, fill: (file: FileHandle) => Promise<void>): Promise<void> {
  const { path, account } = target
  const replace = async (folder: FolderHandle, name: string, real: string) => {
    const before = await lstat(folder.at(name)).catch(nullIfMissing)
    if (before?.isDirectory() === true)
      throw new ParleyError('bad_request', `${path} is a directory`, { details: { path } })
    if (before !== null) expectNoLink(before, target)
    await expectChangeable(folder, name, target)
    const fresh = folder.at(`.${randomBytes(9).toString('hex')}.tmp`)
    try {
      await using file = await open(fresh, 'wx', 0o666)
      if (account !== null) await file.chown(account.uid, account.gid)
      await fill(file)
      if (before !== null) await file.chmod(before.mode & 0o7777)
      await file.sync()
      await rename(fresh, folder.at(name))
    } catch (error) {
      await rm(fresh, { force: true })
      throw error
    }
    await syncFolders(dirname(real), folder.made)
  }
  await inFolder(target, replace, { creates: true })
}

/** Removes a file, a symlink (not its target), or an empty directory. */
export async function removeOne(target: Target): Promise<void> {
  await inFolder(target, async (folder, name, real) => {
    await expectChangeable(folder, name, target)
    try {
      await unlink(folder.at(name))
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code !== 'EISDIR' && code !== 'EPERM') throw error
      await rmdir(folder.at(name))
    }
    await syncFolders(dirname(real))
  })
}

/** The entries of a directory as they are: links are not followed. */
export const readFolder = (target: Target): Promise<Dirent[]> =>
  untilStill(target, async (real) => {
    await using folder = await FolderHandle.open(real)
    expectAllowed(target.account, await folder.stat(), 'read', target.path)
    return await readdir(folder.path, { withFileTypes: true })
  })

/** Entries by name. A symlink has the kind of its target, which `entry` decides about; `other` when it may not be used, or dangles. */
export async function listFolder(
  target: Target,
  entry: (name: string) => Target,
): Promise<{ name: string; kind: FileStat['kind'] }[]> {
  const entries = await readFolder(target)
  const kinds = entries.map(async (each) => {
    const { name } = each
    if (each.isFile()) return { name, kind: 'file' as const }
    if (each.isDirectory()) return { name, kind: 'directory' as const }
    if (!each.isSymbolicLink()) return { name, kind: 'other' as const }
    return { name, kind: (await statFile(entry(name)).catch(() => null))?.kind ?? ('other' as const) }
  })
  return (await Promise.all(kinds)).toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

/** Runs `work` in the directory of a target, which is open meanwhile. `creates`: creates it and its missing parents. */
export function inFolder<T>(
  target: Target,
  work: (folder: FolderHandle, name: string, real: string) => Promise<T>,
  { creates = false }: { creates?: boolean } = {},
): Promise<T> {
  return untilStill(target, async (real) => {
    await using folder = await FolderHandle.open(dirname(real), { creates, account: target.account })
    return await work(folder, basename(real), real)
  })
}

/** In a directory with the sticky bit, as /tmp, entries are changed by their owners only. */
const STICKY = 0o1000

/** @throws Error `EACCES` when the account of the target may not replace or remove an entry. */
async function expectChangeable(folder: FolderHandle, name: string, { account, path }: Target): Promise<void> {
  if (account === null) return
  const around = await folder.stat()
  expectAllowed(account, around, 'write', path)
  if ((around.mode & STICKY) === 0 || around.uid === account.uid) return
  const entry = await lstat(folder.at(name)).catch(nullIfMissing)
  if (entry !== null && entry.uid !== account.uid) throw denied(account, path)
}

/** Decides about the path and uses it; repeats both when the path has changed in between. */
async function untilStill<T>({ path, real }: Target, use: (real: string) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const decided = await real()
    try {
      return await asParleyError(path, () => use(decided))
    } catch (error) {
      if (!(error instanceof PathMoved)) throw error
      if (attempt === ATTEMPTS) throw changing(path)
    }
  }
}

const changing = (path: string): ParleyError =>
  new ParleyError('conflict', `${path} was replaced while it was used. Try again.`, { details: { path } })

/** A real path has no links; one that is there now has replaced it. */
function expectNoLink(found: Stats, { path }: Target): void {
  if (found.isSymbolicLink()) throw new PathMoved(path)
}

const statOf = (found: Stats): FileStat => ({
  kind: found.isFile() ? 'file' : found.isDirectory() ? 'directory' : 'other',
  size: found.size,
  mode: found.mode & 0o7777,
  mtimeMs: found.mtimeMs,
})

/** For `catch`: null when nothing is there. */
export function nullIfNotFound(error: unknown): null {
  if (error instanceof ParleyError && error.code === 'not_found') return null
  throw error
}
