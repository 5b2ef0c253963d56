/** Files of the server's machine by absolute path, without confinement. Source: agent-server-wire.md 1.8. */
import { constants } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, readdir, realpath } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, dirname, isAbsolute, join, normalize, relative } from 'node:path'
import { Readable } from 'node:stream'
import { type HomeResponse, ParleyError } from '@parley/protocol'
import { isInside } from '../lib/index.ts'
import { isCredentialFile } from './archive/credential-places.ts'
import { asParleyError, replaceFile, statFile } from './files.ts'

const MAX_FAVORITES = 50
/** Bytes read of a file that reports size 0. */
const MAX_UNSIZED_BYTES = 8 * 1024 * 1024
const PIECE_BYTES = 64 * 1024

/** @throws ParleyError `bad_request` for a relative path, and for one with a NUL character. */
export function absolutePath(path: string): string {
  if (!isAbsolute(path)) throw new ParleyError('bad_request', 'Path must be absolute')
  if (path.includes('\0')) throw new ParleyError('bad_request', 'Path must not contain the character NUL')
  return normalize(path)
}

/** A file opened for reading. */
export type OpenFile = { name: string; size: number; mtimeMs: number; stream(): Readable; close(): Promise<void> }

/** Opens a file for reading; follows symlinks. @throws ParleyError `not_found`, `bad_request`, `forbidden`. */
export async function openFile(path: string): Promise<OpenFile> {
  const target = absolutePath(path)
  const before = await statFile(target)
  if (before === null) throw new ParleyError('not_found', 'File not found')
  // The kind is checked before opening, because opening a named pipe without a writer would block.
  if (before.kind !== 'file') throw new ParleyError('bad_request', 'Path is not a file')
  // O_NONBLOCK: reading a special file that waits for data fails instead of blocking.
  const file = await asParleyError(target, () => open(target, constants.O_RDONLY | constants.O_NONBLOCK))
  const { size, mtimeMs } = await file.stat()
  const about = { name: basename(target), mtimeMs, close: () => file.close() }
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
 * @throws ParleyError `bad_request`, `forbidden`, `unavailable` (disk full); the error of the source.
 */
export async function receiveFile(path: string, chunks: AsyncIterable<Uint8Array>): Promise<void> {
  const target = absolutePath(path)
  await expectDirectoryAbove(target)
  await replaceFile(target, async (file) => {
    for await (const chunk of chunks) {
      let at = 0
      while (at < chunk.length) at += (await file.write(chunk, at)).bytesWritten
    }
  })
}

/** Creates a directory and its parents; does nothing when it exists. @throws ParleyError `bad_request`, `forbidden`. */
export async function makeDirectory(path: string): Promise<void> {
  const target = absolutePath(path)
  const before = await statFile(target)
  if (before !== null && before.kind !== 'directory')
    throw new ParleyError('bad_request', 'Path exists and is not a directory')
  await expectDirectoryAbove(target)
  await asParleyError(target, () => mkdir(target, { recursive: true }))
}

/** @throws ParleyError `bad_request` when a parent of the path is not a directory. */
async function expectDirectoryAbove(path: string): Promise<void> {
  const above = dirname(path)
  const found = await statFile(above)
  if (found === null && above !== path) return expectDirectoryAbove(above)
  if (found !== null && found.kind !== 'directory') throw new ParleyError('bad_request', `${above} is not a directory`)
}

/** Start points for browsing: the home directory, and the directories in it. */
export async function homeLocations(includeHidden: boolean): Promise<HomeResponse> {
  const home = homedir()
  const inside = await subdirectories(home, includeHidden).catch(() => [])
  return {
    home,
    favorites: inside.slice(0, MAX_FAVORITES).map(({ name, path }) => ({ label: name, path })),
    locations: [{ label: '/', path: '/' }],
  }
}

/**
 * A page of the directories in a directory, by name without regard to case; symlinks are left out.
 * @param from lower-cased name of the first item
 * @throws ParleyError `not_found`, `bad_request`, `forbidden`.
 */
export async function pageOfSubdirectories(
  path: string,
  { limit, from, includeHidden }: { limit: number; from?: string | undefined; includeHidden: boolean },
): Promise<{ items: { name: string; path: string }[]; next_page_id: string | null }> {
  const target = absolutePath(path)
  const found = await statFile(target)
  if (found === null) throw new ParleyError('not_found', 'Directory not found')
  if (found.kind !== 'directory') throw new ParleyError('bad_request', 'Path is not a directory')
  const all = await subdirectories(target, includeHidden)
  const rest = from === undefined ? all : all.filter(({ name }) => name.toLowerCase() >= from)
  return { items: rest.slice(0, limit), next_page_id: rest[limit]?.name.toLowerCase() ?? null }
}

async function subdirectories(path: string, includeHidden: boolean): Promise<{ name: string; path: string }[]> {
  const entries = await asParleyError(path, () => readdir(path, { withFileTypes: true }))
  return entries
    .filter((entry) => entry.isDirectory() && (includeHidden || !entry.name.startsWith('.')))
    .map(({ name }) => ({ name, path: join(path, name) }))
    .toSorted((a, b) => (key(a.name) < key(b.name) ? -1 : 1))
}

const key = (name: string): string => `${name.toLowerCase()}\0${name}`

/**
 * Opens a file in a directory by relative path; a directory stands for its `index.html`. Paths, including symlinks, cannot leave `root`.
 * Files that may contain credentials are not found: pages of a workspace, which an agent may have written, could read them.
 * @throws ParleyError `bad_request` for a path outside `root`, `not_found`. Source: agent-server-wire.md 3.
 */
export async function confinedFile(root: string, path: string): Promise<OpenFile> {
  const outside = () => new ParleyError('bad_request', 'Path is outside the workspace')
  if (path.includes('\0')) throw new ParleyError('bad_request', 'Path must not contain the character NUL')
  const real = await realpath(root).catch(() => null)
  if (real === null) throw new ParleyError('not_found', 'File not found')
  // Leading slashes are a rest of the URL and do not stand for the root of the file system.
  const wanted = join(real, path.replace(/^\/+/, ''))
  if (!isInside(real, wanted)) throw outside()
  const target = await realpath(wanted).catch(() => null)
  if (target === null) {
    const dangling = await lstat(wanted).catch(() => null)
    throw dangling?.isSymbolicLink() === true ? outside() : new ParleyError('not_found', 'File not found')
  }
  if (!isInside(real, target)) throw outside()
  if (await isCredentialFile(real, relative(real, target))) throw new ParleyError('not_found', 'File not found')
  const found = await statFile(target)
  if (found?.kind !== 'directory') return openFile(target)
  const index = await realpath(join(target, 'index.html')).catch(() => null)
  if (index === null) throw new ParleyError('not_found', 'No index.html in directory')
  if (!isInside(real, index)) throw outside()
  return openFile(index)
}
