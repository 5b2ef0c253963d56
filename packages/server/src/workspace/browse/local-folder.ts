/** The working directory of a conversation on this machine. */
import { join, relative } from 'node:path'
import type { FolderEntry } from '@parley/protocol'
import { isInside } from '../../lib/index.ts'
import type { Account } from '../account/account.ts'
import { isCredentialFile } from '../archive/credential-places.ts'
import { asParleyError } from '../file-errors.ts'
import { nullIfNotFound, openToRead, readFolder, statFile, type Target } from '../files.ts'
import { openTarget } from '../host-files.ts'
import { resolveLinks } from '../roots/real-path.ts'
import {
  listing,
  MAX_SEARCHED,
  missing,
  NOT_SEARCHED,
  notDirectory,
  notFile,
  outside,
  relativePath,
  SAMPLE_BYTES,
  withCredentials,
  type BrowsedFolder,
} from './browsed-folder.ts'
import { matches } from './matches.ts'
import { isBinary, textPart } from './text-part.ts'

/**
 * Follows links inside the folder and refuses those that lead out of it.
 * @param root real path
 * @param account whose permissions count; null: those of this process
 */
export function localFolder(root: string, account: Account | null): BrowsedFolder {
  const at = (path: string): Target => ({
    path: path === '' ? '.' : path,
    account,
    real: async () => {
      const real = await asParleyError(path, () => resolveLinks(join(root, path)))
      if (!isInside(root, real)) throw outside()
      return real
    },
  })

  /** A regular file that may be shown. */
  async function readable(given: string): Promise<Target> {
    const path = relativePath(given)
    const target = at(path)
    const found = await statFile(target)
    if (found === null) throw missing(path)
    if (found.kind !== 'file') throw notFile(target.path)
    if (await isCredentialFile(root, relative(root, await target.real()))) throw withCredentials(path)
    return target
  }

  async function entriesOf(path: string): Promise<FolderEntry[]> {
    const entries = (await readFolder(at(path)).catch(nullIfNotFound)) ?? []
    return Promise.all(
      entries.map(async (entry): Promise<FolderEntry> => {
        const { name } = entry
        if (entry.isFile()) return { name, kind: 'file' }
        if (entry.isDirectory()) return { name, kind: 'directory' }
        if (!entry.isSymbolicLink()) return { name, kind: 'other' }
        const target = await statFile(at(join(path, name))).catch(() => null)
        return { name, kind: target?.kind ?? 'other', is_link: true }
      }),
    )
  }

  async function list(given: string) {
    const path = relativePath(given)
    const kind = (await statFile(at(path)))?.kind
    if (kind === undefined && path !== '') throw missing(path)
    if (kind !== undefined && kind !== 'directory') throw notDirectory(path)
    return listing(kind === undefined ? [] : await entriesOf(path))
  }

  async function search(query: string, limit: number, signal: AbortSignal) {
    const paths: string[] = []
    let seen = 0
    const folders = ['']
    for (let folder = folders.shift(); folder !== undefined && seen < MAX_SEARCHED; folder = folders.shift()) {
      signal.throwIfAborted()
      // A directory that cannot be read has nothing to show.
      for (const entry of await readFolder(at(folder)).catch(() => [])) {
        seen += 1
        const path = join(folder, entry.name)
        if (entry.isFile()) paths.push(path)
        else if (entry.isDirectory() && !NOT_SEARCHED.has(entry.name)) folders.push(path)
      }
    }
    const found = matches(paths, query)
    return { paths: found.slice(0, limit), is_complete: folders.length === 0 && found.length <= limit }
  }

  return {
    list,
    search,
    open: async (path) => openTarget(await readable(path)),
    async text(path, { offset, limit }) {
      const target = await readable(path)
      await using file = await openToRead(target)
      const stats = await file.stat()
      if (!stats.isFile()) throw notFile(target.path)
      const about = { size: stats.size, modified_at: stats.mtime.toISOString(), offset }
      const read = async (from: number, bytes: number) => {
        const { bytesRead, buffer } = await file.read(Buffer.alloc(bytes), 0, bytes, from)
        return buffer.subarray(0, bytesRead)
      }
      if (isBinary(await read(0, SAMPLE_BYTES))) return { ...about, text: null, next_offset: null }
      return { ...about, ...textPart(await read(offset, limit), about) }
    },
  }
}
