/** File operations of a local workspace. */
import { randomBytes } from 'node:crypto'
import {
  mkdir,
  open,
  readFile,
  readdir,
  readlink,
  realpath,
  rename,
  rm,
  rmdir,
  stat,
  unlink,
  type FileHandle,
} from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { ParleyError, type ErrorCode } from '@parley/protocol'
import { syncFolders } from '../lib/index.ts'
import type { FileStat } from './workspace.ts'

const REFUSALS: Readonly<Record<string, ErrorCode>> = {
  ENOENT: 'not_found',
  ENOTDIR: 'not_found',
  EACCES: 'forbidden',
  EPERM: 'forbidden',
  EROFS: 'forbidden',
  EISDIR: 'bad_request',
  ELOOP: 'bad_request',
  ENAMETOOLONG: 'bad_request',
  ENOTEMPTY: 'conflict',
  ENOSPC: 'unavailable',
  EDQUOT: 'unavailable',
}

/** Turns refusals of the file system into errors for the caller; other errors are bugs and pass unchanged. */
export async function asParleyError<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const { code: errno, message } = error as NodeJS.ErrnoException
    const code = errno === undefined ? undefined : REFUSALS[errno]
    throw code === undefined ? error : new ParleyError(code, message, { details: { path }, cause: error })
  }
}

/** Follows symlinks. Returns null when nothing exists at `path`. */
export async function statFile(path: string): Promise<FileStat | null> {
  return asParleyError(path, async () => {
    const found = await stat(path).catch(nullIfMissing)
    if (found === null) return null
    const kind = found.isFile() ? 'file' : found.isDirectory() ? 'directory' : 'other'
    return { kind, size: found.size, mode: found.mode & 0o7777, mtimeMs: found.mtimeMs }
  })
}

/** `path` with all symlinks followed; null when nothing exists there. */
export const realPathOf = (path: string): Promise<string | null> =>
  asParleyError(path, () => realpath(path).catch(nullIfMissing))

export const readWhole = (path: string, signal: AbortSignal): Promise<Uint8Array> =>
  asParleyError(path, () => readFile(path, { signal }))

/**
 * Replaces a file atomically: a reader sees the old content or the new. A symlink is followed and stays a symlink
 * (agent-core.md 8.3); the mode of an existing file is kept, and the umask applies to a new one. Resolves when it is on disk, so
 * that no power cut undoes an edit that was reported.
 */
export async function writeWhole(path: string, data: Uint8Array, signal: AbortSignal): Promise<void> {
  await replaceFile(path, (file) => file.writeFile(data, { signal }))
}

/** `writeWhole` for content of any length, which `fill` writes. When `fill` fails, the old content stays. */
export async function replaceFile(path: string, fill: (file: FileHandle) => Promise<void>): Promise<void> {
  await asParleyError(path, async () => {
    const target = await followLinks(path)
    const before = await stat(target).catch(nullIfMissing)
    if (before?.isDirectory() === true)
      throw new ParleyError('bad_request', `${path} is a directory`, { details: { path } })
    const folder = dirname(target)
    const made = await mkdir(folder, { recursive: true })
    const fresh = join(folder, `.${randomBytes(9).toString('hex')}.tmp`)
    try {
      await using file = await open(fresh, 'wx', 0o666)
      await fill(file)
      if (before !== null) await file.chmod(before.mode & 0o7777)
      await file.sync()
      await rename(fresh, target)
    } catch (error) {
      await rm(fresh, { force: true })
      throw error
    }
    await syncFolders(folder, made)
  })
}

/** `path` with all symlinks followed, even when the target of the last one does not exist yet. */
async function followLinks(path: string): Promise<string> {
  let at = path
  for (let links = 0; links < 40; links++) {
    const real = await realpath(at).catch(nullIfMissing)
    if (real !== null) return real
    const next = await readlink(at).catch(nullIfMissing)
    if (next === null) return at
    at = resolve(dirname(at), next)
  }
  throw new ParleyError('bad_request', `${path} is a link that leads in a circle`, { details: { path } })
}

/** Removes a file, a symlink (not its target), or an empty directory. */
export async function removeOne(path: string): Promise<void> {
  await asParleyError(path, async () => {
    try {
      await unlink(path)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code !== 'EISDIR' && code !== 'EPERM') throw error
      await rmdir(path)
    }
    await syncFolders(dirname(path))
  })
}

/** Entries by name. A symlink has the kind of its target; a dangling one is `other`. */
export async function listFolder(path: string): Promise<{ name: string; kind: FileStat['kind'] }[]> {
  return asParleyError(path, async () => {
    const entries = await readdir(path, { withFileTypes: true })
    const kinds = entries.map(async (entry) => {
      if (entry.isFile()) return { name: entry.name, kind: 'file' as const }
      if (entry.isDirectory()) return { name: entry.name, kind: 'directory' as const }
      if (!entry.isSymbolicLink()) return { name: entry.name, kind: 'other' as const }
      return {
        name: entry.name,
        kind: (await statFile(join(path, entry.name)).catch(() => null))?.kind ?? ('other' as const),
      }
    })
    return (await Promise.all(kinds)).toSorted((a, b) => (a.name < b.name ? -1 : 1))
  })
}

function nullIfMissing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR' || error.code === 'EINVAL') return null
  throw error
}
