/** Files of the server's machine by absolute path, within the roots of a user. Source: agent-server-wire.md 1.8. */
import { lstat, readdir, type FileHandle } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, dirname, isAbsolute, join, normalize, relative } from 'node:path'
import { Readable } from 'node:stream'
import { type HomeResponse, ParleyError, type Place } from '@parley/protocol'
import { isInside } from '../lib/index.ts'
import { expectAllowed, type Account } from './account/account.ts'
import { isCredentialFile } from './archive/credential-places.ts'
import { asParleyError, nullIfMissing } from './file-errors.ts'
import { openToRead, replaceFile, statFile, type Target } from './files.ts'
import { FolderHandle, makeFolder } from './roots/folder-handle.ts'
import { resolveLinks } from './roots/real-path.ts'
import type { FileRoots, Roots } from './roots/roots.ts'

const MAX_FAVORITES = 50
/** Bytes read of a file that reports size 0. */
const MAX_UNSIZED_BYTES = 8 * 1024 * 1024
const PIECE_BYTES = 64 * 1024
/** The member of all these requests that holds the path. */
const MEMBER: Place = ['path']

/** @throws ParleyError `bad_request` for a relative path, and for one with a NUL character. */
export function absolutePath(path: string): string {
  if (!isAbsolute(path)) throw new ParleyError('bad_request', 'Path must be absolute')
  expectNoNul(path)
  return normalize(path)
}

function expectNoNul(path: string): void {
  if (path.includes('\0')) throw new ParleyError('bad_request', 'Path must not contain the character NUL')
}

/** A file opened for reading. */
export type OpenFile = { name: string; size: number; mtimeMs: number; stream(): Readable; close(): Promise<void> }

/** Opens a file for reading; follows symlinks within the roots. @throws RefusedPath; ParleyError `not_found`, `bad_request`, `forbidden`. */
export async function openFile(roots: FileRoots, path: string): Promise<OpenFile> {
  const asked = absolutePath(path)
  return openTarget({ path: asked, account: roots.account, real: () => roots.file(asked, MEMBER) })
}

/** As `openFile`, for a path that is decided elsewhere. */
export async function openTarget(target: Target): Promise<OpenFile> {
  const before = await statFile(target)
  if (before === null) throw new ParleyError('not_found', 'File not found')
  // The kind is checked before opening, because opening a named pipe without a writer would block.
  if (before.kind !== 'file') throw new ParleyError('bad_request', 'Path is not a file')
  const file = await openToRead(target)
  const { size, mtimeMs } = await file.stat()
  const about = { name: basename(target.path), mtimeMs, close: () => file.close() }
  // A file that grows meanwhile is read up to the announced size only.
  if (size > 0) return { ...about, size, stream: () => file.createReadStream({ start: 0, end: size - 1 }) }
  try {
    const bytes = await unsized(file)
    return { ...about, size: bytes.length, stream: () => Readable.from([bytes], { objectMode: false }) }
  } catch (error) {
    await file.close()
    throw error
  }
}

/**
 * Reads a file of size 0: files that the kernel generates on reading report that size too.
 * @throws ParleyError `bad_request` when the file has no end within the limit.
 */
async function unsized(file: FileHandle): Promise<Buffer> {
  const pieces: Buffer[] = []
  for (let total = 0; total <= MAX_UNSIZED_BYTES;) {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(PIECE_BYTES), 0, PIECE_BYTES, null).catch(() => {
      throw new ParleyError('bad_request', 'The file cannot be read to its end')
    })
    if (bytesRead === 0) return Buffer.concat(pieces)
    pieces.push(buffer.subarray(0, bytesRead))
    total += bytesRead
  }
  throw new ParleyError('bad_request', 'The file does not say how long it is, and is too long to find out')
}

/**
 * Writes a stream to a file, which it replaces atomically; creates missing directories.
 * @throws RefusedPath; ParleyError `bad_request`, `forbidden`, `unavailable` (disk full); the error of the source.
 */
export async function receiveFile(roots: FileRoots, path: string, chunks: AsyncIterable<Uint8Array>): Promise<void> {
  const asked = absolutePath(path)
  const { account } = roots
  const target = { path: asked, account, real: () => roots.file(asked, MEMBER) }
  await expectDirectoryAbove(asked, await target.real())
  await replaceFile(target, async (file) => {
    for await (const chunk of chunks) {
      let at = 0
      while (at < chunk.length) at += (await file.write(chunk, at)).bytesWritten
    }
  })
}

/** Creates a directory and its parents; does nothing when it exists. @throws RefusedPath; ParleyError `bad_request`, `forbidden`. */
export async function makeDirectory(roots: Roots, path: string): Promise<void> {
  const asked = absolutePath(path)
  const real = await roots.directory(asked, MEMBER)
  const before = await kindAt(real)
  if (before !== null && before !== 'directory')
    throw new ParleyError('bad_request', 'Path exists and is not a directory')
  await expectDirectoryAbove(asked, real)
  await asParleyError(asked, () => makeFolder(real, roots.account))
}

/** @throws ParleyError `bad_request` when a parent of the path is not a directory. */
async function expectDirectoryAbove(path: string, real: string): Promise<void> {
  for (let at = dirname(real); ; at = dirname(at)) {
    const found = await kindAt(at)
    if (found === 'directory') return
    if (found !== null) throw new ParleyError('bad_request', `A parent of ${path} is not a directory`)
    if (at === dirname(at)) return
  }
}

/** The kind of what is at a real path; null: nothing. */
async function kindAt(real: string): Promise<'file' | 'directory' | 'other' | null> {
  const found = await asParleyError(real, () => lstat(real).catch(nullIfMissing))
  if (found === null) return null
  return found.isDirectory() ? 'directory' : found.isFile() ? 'file' : 'other'
}

/**
 * Start points for choosing a directory: the home directory and the directories in it; where the operator lists directories, the
 * user's own folder and those.
 */
export async function homeLocations(roots: Roots, includeHidden: boolean): Promise<HomeResponse> {
  const { opened: listed } = roots
  const home = listed === null ? (roots.account?.home ?? homedir()) : await roots.ownFolder()
  const inside = await subdirectories(roots, home, includeHidden).catch(() => [])
  const places = listed === null ? ['/'] : listed
  return {
    home,
    favorites: inside.slice(0, MAX_FAVORITES).map(({ name, path }) => ({ label: name, path })),
    locations: places.map((path) => ({ label: path, path })),
  }
}

/**
 * A page of the directories in a directory, by name without regard to case. Left out are symlinks, and directories that the user
 * cannot choose.
 * @param from lower-cased name of the first item
 * @throws RefusedPath; ParleyError `not_found`, `bad_request`, `forbidden`.
 */
export async function pageOfSubdirectories(
  roots: Roots,
  path: string,
  { limit, from, includeHidden }: { limit: number; from?: string | undefined; includeHidden: boolean },
): Promise<{ items: { name: string; path: string }[]; next_page_id: string | null }> {
  const asked = absolutePath(path)
  const found = await kindAt(await roots.browsed(asked, MEMBER))
  if (found === null) throw new ParleyError('not_found', 'Directory not found')
  if (found !== 'directory') throw new ParleyError('bad_request', 'Path is not a directory')
  const all = await subdirectories(roots, asked, includeHidden)
  const rest = from === undefined ? all : all.filter(({ name }) => name.toLowerCase() >= from)
  return { items: rest.slice(0, limit), next_page_id: rest[limit]?.name.toLowerCase() ?? null }
}

async function subdirectories(
  roots: Roots,
  path: string,
  includeHidden: boolean,
): Promise<{ name: string; path: string }[]> {
  const real = await roots.browsed(path, MEMBER)
  const entries = await asParleyError(path, async () => {
    await using folder = await FolderHandle.open(real)
    expectAllowed(roots.account, await folder.stat(), 'read', path)
    return await readdir(folder.path, { withFileTypes: true })
  })
  const named = entries.filter((entry) => entry.isDirectory() && (includeHidden || !entry.name.startsWith('.')))
  const shown: { name: string; path: string }[] = []
  for (const { name } of named) if (await roots.isShown(join(real, name))) shown.push({ name, path: join(path, name) })
  return shown.toSorted((a, b) => (key(a.name) < key(b.name) ? -1 : 1))
}

const key = (name: string): string => `${name.toLowerCase()}\0${name}`

/**
 * Opens a file in a directory by relative path; a directory stands for its `index.html`. Paths, including symlinks, cannot leave `root`.
 * Files that may contain credentials are not found: pages of a workspace, which an agent may have written, could read them.
 * @param root real path
 * @param account whose permissions count; null: those of this process
 * @throws ParleyError `bad_request` for a path outside `root`, `not_found`. Source: agent-server-wire.md 3.
 */
export async function confinedFile(root: string, path: string, account: Account | null): Promise<OpenFile> {
  expectNoNul(path)
  // Leading slashes are a rest of the URL and do not stand for the root of the file system.
  const asked = within(root, join(root, path.replace(/^\/+/, '')), account)
  const real = await asked.real()
  if (await isCredentialFile(root, relative(root, real))) throw new ParleyError('not_found', 'File not found')
  if ((await statFile(asked))?.kind !== 'directory') return openTarget(asked)
  const page = within(root, join(real, 'index.html'), account)
  if ((await statFile(page)) === null) throw new ParleyError('not_found', 'No index.html in directory')
  return openTarget(page)
}

const within = (root: string, path: string, account: Account | null): Target => ({
  path,
  account,
  real: async () => {
    const real = await asParleyError(path, () => resolveLinks(path))
    if (isInside(root, path) && isInside(root, real)) return real
    throw new ParleyError('bad_request', 'Path is outside the workspace')
  },
})
