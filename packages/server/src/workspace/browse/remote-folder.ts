/** The working directory of a conversation on another agent server. */
import { posix } from 'node:path'
import { Readable } from 'node:stream'
import { ParleyError } from '@parley/protocol'
import { isInside } from '../../lib/index.ts'
import { isCredentialPath, isCredentialText, isJudgedByContent } from '../archive/credential-places.ts'
import type { Workspace } from '../workspace.ts'
import {
  listing,
  MAX_SEARCHED,
  missing,
  NOT_SEARCHED,
  notDirectory,
  notFile,
  outside,
  relativePath,
  withCredentials,
  type BrowsedFolder,
} from './browsed-folder.ts'
import { matches } from './matches.ts'
import { isBinary, textPart } from './text-part.ts'

/** Bytes of a file of another server, which is read as a whole. */
const MAX_BYTES = 16 * 1024 * 1024
const SEARCH_MS = 20_000
/** Bytes of the paths that a search reads. */
const MAX_PATHS_BYTES = 512 * 1024

/** Argument: number of bytes. Prints the paths of files, divided by NUL, in base64. */
const FIND = `find . -mindepth 1 -type d \\( ${[...NOT_SEARCHED].map((name) => `-name ${name}`).join(' -o ')} \\) -prune \
  -o -type f -print0 2>/dev/null | head -c "$1" | base64`

export function remoteFolder(open: (signal: AbortSignal) => Promise<Workspace>): BrowsedFolder {
  /** Opens the workspace for one operation. Messages of the other server name paths as this API does. */
  async function using<T>(signal: AbortSignal, work: (workspace: Workspace) => Promise<T>): Promise<T> {
    await using workspace = await open(signal)
    const { workingDir } = workspace
    try {
      return await work(workspace)
    } catch (error) {
      if (!(error instanceof ParleyError) || !error.message.includes(workingDir)) throw error
      const message = error.message.replaceAll(`${workingDir}/`, '').replaceAll(workingDir, 'The working directory')
      throw new ParleyError(error.code, message, { cause: error })
    }
  }

  /** The real path of an entry, and its path relative to the real working directory; null: there is no such entry. */
  async function place(workspace: Workspace, path: string, signal: AbortSignal) {
    const root = await workspace.realPath!('.', signal)
    const real = root === null ? null : await workspace.realPath!(path === '' ? '.' : path, signal)
    if (root === null || real === null) return null
    if (!isInside(root, real)) throw outside()
    return { real, within: posix.relative(root, real) }
  }

  async function read(workspace: Workspace, path: string, signal: AbortSignal) {
    const found = await place(workspace, path, signal)
    const stats = found === null ? null : await workspace.stat(found.real, signal)
    if (found === null || stats === null) throw missing(path)
    if (stats.kind !== 'file') throw notFile(path === '' ? '.' : path)
    if (isCredentialPath(found.within.split('/'))) throw withCredentials(path)
    if (stats.size > MAX_BYTES)
      throw new ParleyError(
        'too_large',
        `${path} has ${stats.size} bytes; of another server, files up to ${MAX_BYTES} are read`,
      )
    const bytes = Buffer.from(await workspace.readFile(found.real, signal))
    if (isJudgedByContent(path) && isCredentialText(bytes.toString('latin1'))) throw withCredentials(path)
    return { bytes, mtimeMs: stats.mtimeMs }
  }

  return {
    list: (given, signal) =>
      using(signal, async (workspace) => {
        const path = relativePath(given)
        const found = await place(workspace, path, signal)
        if (found === null && path !== '') throw missing(path)
        if (found === null) return listing([])
        const kind = (await workspace.stat(found.real, signal))?.kind
        if (kind !== 'directory') throw notDirectory(path)
        return listing(await workspace.list(found.real, signal))
      }),

    text: (given, { offset, limit }, signal) =>
      using(signal, async (workspace) => {
        const { bytes, mtimeMs } = await read(workspace, relativePath(given), signal)
        const about = { size: bytes.length, modified_at: new Date(mtimeMs).toISOString(), offset }
        if (isBinary(bytes)) return { ...about, text: null, next_offset: null }
        return { ...about, ...textPart(bytes.subarray(offset, offset + limit), about) }
      }),

    search: (query, limit, signal) =>
      using(signal, async (workspace) => {
        const argv = ['/bin/sh', '-c', FIND, 'parley', String(MAX_PATHS_BYTES)]
        const { stdout } = await workspace.exec({ argv, timeoutMs: SEARCH_MS }, signal)
        const read = Buffer.from(stdout, 'base64')
        const all = read.toString('utf8').split('\0').slice(0, -1)
        const paths = all.slice(0, MAX_SEARCHED).map((path) => path.replace(/^\.\//, ''))
        const found = matches(paths, query)
        const isWhole = read.length < MAX_PATHS_BYTES && all.length <= MAX_SEARCHED
        return { paths: found.slice(0, limit), is_complete: isWhole && found.length <= limit }
      }),

    open: (given, signal) =>
      using(signal, async (workspace) => {
        const path = relativePath(given)
        const { bytes, mtimeMs } = await read(workspace, path, signal)
        return {
          name: posix.basename(path),
          size: bytes.length,
          mtimeMs,
          stream: () => Readable.from([bytes], { objectMode: false }),
          close: async () => undefined,
        }
      }),
  }
}
