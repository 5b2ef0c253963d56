/** Files of the server's machine by absolute path, without a jail. Source: agent-server-wire.md 1.8. */
import { constants } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, readdir, realpath } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, dirname, isAbsolute, join, normalize, relative, sep } from 'node:path'
import { Readable } from 'node:stream'
import { type HomeResponse, ParleyError } from '@parley/protocol'
import { refusing, replaceFile, statFile } from './files.ts'

const MAX_FAVORITES = 50
/** Of a file that does not say how long it is. */
const MAX_UNSIZED_BYTES = 8 * 1024 * 1024
const PIECE_BYTES = 64 * 1024

/** @throws ParleyError `bad_request` for a relative path, and for one that no file can have. */
export function absolutePath(path: string): string {
  if (!isAbsolute(path)) throw new ParleyError('bad_request', 'Path must be absolute')
  if (path.includes('\0')) throw new ParleyError('bad_request', 'Path must not contain the character NUL')
  return normalize(path)
}

/** A file that is being read. */
export type OpenFile = { name: string; size: number; mtimeMs: number; stream(): Readable; close(): Promise<void> }

/** Opens a file for reading; links are followed. @throws ParleyError `not_found`, `bad_request`, `forbidden`. */
export async function openFile(path: string): Promise<OpenFile> {
  const target = absolutePath(path)
  const before = await statFile(target)
  if (before === null) throw new ParleyError('not_found', 'File not found')
  // Looked at before it is opened: opening a pipe that nobody writes to would wait for ever.
  if (before.kind !== 'file') throw new ParleyError('bad_request', 'Path is not a file')
  // One that waits for more (as those of the kernel may) says so instead.
  const file = await refusing(target, () => open(target, constants.O_RDONLY | constants.O_NONBLOCK))
  const { size, mtimeMs } = await file.stat()
  const about = { name: basename(target), mtimeMs, close: () => file.close() }
  // Never more than was announced, should the file grow meanwhile.
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
 * What a file of size 0 holds: those that the kernel makes up while they are read say so too.
 * @throws ParleyError `bad_request` when it does not come to an end.
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
 * Writes what comes in to a file, in its place as a whole; directories are made where needed.
 * @throws ParleyError `bad_request`, `forbidden`, `unavailable` (disk full); what the source failed with.
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

/** Makes a directory and those above it; one that exists is fine. @throws ParleyError `bad_request`, `forbidden`. */
export async function makeDirectory(path: string): Promise<void> {
  const target = absolutePath(path)
  const before = await statFile(target)
  if (before !== null && before.kind !== 'directory')
    throw new ParleyError('bad_request', 'Path exists and is not a directory')
  await expectDirectoryAbove(target)
  await refusing(target, () => mkdir(target, { recursive: true }))
}

/** @throws ParleyError `bad_request` when the path leads through something that is no directory. */
async function expectDirectoryAbove(path: string): Promise<void> {
  const above = dirname(path)
  const found = await statFile(above)
  if (found === null && above !== path) return expectDirectoryAbove(above)
  if (found !== null && found.kind !== 'directory') throw new ParleyError('bad_request', `${above} is not a directory`)
}

/** Where to begin looking: the home directory, and the directories right inside it. */
export async function lookAtHome(includeHidden: boolean): Promise<HomeResponse> {
  const home = homedir()
  const inside = await subdirectories(home, includeHidden).catch(() => [])
  return {
    home,
    favorites: inside.slice(0, MAX_FAVORITES).map(({ name, path }) => ({ label: name, path })),
    locations: [{ label: '/', path: '/' }],
  }
}

/**
 * A page of the directories inside a directory, by name whatever its case; links are left out.
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
  const entries = await refusing(path, () => readdir(path, { withFileTypes: true }))
  return entries
    .filter((entry) => entry.isDirectory() && (includeHidden || !entry.name.startsWith('.')))
    .map(({ name }) => ({ name, path: join(path, name) }))
    .toSorted((a, b) => (key(a.name) < key(b.name) ? -1 : 1))
}

const key = (name: string): string => `${name.toLowerCase()}\0${name}`

/**
 * The file that a path inside a directory names; a directory stands for its `index.html`. Neither `..` nor a link leads out.
 * @throws ParleyError `bad_request` for a path that leads outside, `not_found`. Source: agent-server-wire.md 3.
 */
export async function confinedFile(root: string, path: string): Promise<OpenFile> {
  const outside = () => new ParleyError('bad_request', 'Path is outside the workspace')
  if (path.includes('\0')) throw new ParleyError('bad_request', 'Path must not contain the character NUL')
  const real = await realpath(root).catch(() => null)
  if (real === null) throw new ParleyError('not_found', 'File not found')
  // Leading slashes are only what is left of the address; they do not name the root of the machine.
  const wanted = join(real, path.replace(/^\/+/, ''))
  if (!isInside(real, wanted)) throw outside()
  const target = await realpath(wanted).catch(() => null)
  if (target === null) {
    const dangling = await lstat(wanted).catch(() => null)
    throw dangling?.isSymbolicLink() === true ? outside() : new ParleyError('not_found', 'File not found')
  }
  if (!isInside(real, target)) throw outside()
  const found = await statFile(target)
  if (found?.kind !== 'directory') return openFile(target)
  const index = await realpath(join(target, 'index.html')).catch(() => null)
  if (index === null) throw new ParleyError('not_found', 'No index.html in directory')
  if (!isInside(real, index)) throw outside()
  return openFile(index)
}

function isInside(root: string, path: string): boolean {
  const way = relative(root, path)
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way))
}
