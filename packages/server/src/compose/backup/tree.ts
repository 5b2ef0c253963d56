/**
 * Copies of folders with checksums. Links are not followed, and nothing outside of the folder is read: programs may change the
 * folder meanwhile, and replace a file by a link to another one.
 */
import { createHash } from 'node:crypto'
import { constants, type Stats } from 'node:fs'
import { lstat, mkdir, open, readdir, readlink, realpath, type FileHandle } from 'node:fs/promises'
import { join, posix } from 'node:path'

/** An entry of a folder. `path` is relative to the folder, with slashes; `mode`: permission bits; `size`: bytes. */
export type Entry =
  | { path: string; type: 'file'; mode: number; size: number; sha256: string }
  | { path: string; type: 'directory'; mode: number }
  | { path: string; type: 'link'; target: string }

/** Something that could not be copied. */
export type LeftOut = { path: string; reason: string }

/** Collected while folders are copied. */
export type Copied = { entries: Entry[]; leftOut: LeftOut[] }

const PERMISSIONS = 0o777
const PIECE_BYTES = 1024 * 1024
/** Errors of one entry, which do not end the copy of the others. */
const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'it may not be read',
  EPERM: 'it may not be read',
  ELOOP: 'it was replaced by a link while it was copied',
  ENAMETOOLONG: 'its path is too long',
  EISDIR: 'it was replaced by a folder while it was copied',
  ENOTDIR: 'a folder above it was replaced while it was copied',
}

/**
 * Copies `path` of the folder `from` to the same path of `to`, with everything below it that `wants` accepts. What is deleted
 * meanwhile is not part of the copy. Files are written with mode 0600; links are only listed.
 * @throws the system's error when the copy cannot be written
 */
export async function copyTree(
  from: string,
  to: string,
  path: string,
  wants: (path: string) => boolean,
  copied: Copied,
): Promise<void> {
  // The operator may have moved a folder of the data directory to another disk.
  const real = await realpath(join(from, path)).catch(() => null)
  if (real !== null) await copyEntry({ from: real, to, wants, copied }, path, '')
}

type Copying = { from: string; to: string; wants: (path: string) => boolean; copied: Copied }

async function copyEntry(copying: Copying, root: string, below: string): Promise<void> {
  const path = posix.join(root, below)
  if (!copying.wants(path)) return
  const { copied, to } = copying
  const source = join(copying.from, below)
  const stat = await orLeftOut(copying, path, () => lstat(source))
  if (stat === null) return
  if (stat.isFile()) {
    const file = await copyFile(source, join(to, path), (work) => orLeftOut(copying, path, work))
    if (file !== null) copied.entries.push({ path, type: 'file', ...file })
  } else if (stat.isSymbolicLink()) {
    const target = await orLeftOut(copying, path, () => readlink(source))
    if (target !== null) copied.entries.push({ path, type: 'link', target })
  } else if (stat.isDirectory()) {
    const names = await orLeftOut(copying, path, () => readdir(source))
    if (names === null) return
    await mkdir(join(to, path), { recursive: true, mode: 0o700 })
    copied.entries.push({ path, type: 'directory', mode: permissions(stat) })
    // Backwards, so that the refs of a git directory are copied before its objects, and what a ref names is copied.
    for (const name of names.toSorted().toReversed()) await copyEntry(copying, root, posix.join(below, name))
  } else {
    copied.leftOut.push({ path, reason: 'it is no file, no folder and no link' })
  }
}

/** The result of reading an entry; null when it is deleted or cannot be read, which is noted. */
async function orLeftOut<T>({ copied }: Copying, path: string, read: () => Promise<T>): Promise<T | null> {
  try {
    return await read()
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? ''
    // A name that is no valid UTF-8 is read with a replacement character, and such a file does not exist.
    const reason = code === 'ENOENT' && path.includes('\uFFFD') ? 'its name is no valid UTF-8' : REASONS[code]
    if (reason !== undefined) copied.leftOut.push({ path, reason })
    else if (code !== 'ENOENT') throw error
    return null
  }
}

const permissions = ({ mode }: Stats): number => mode & PERMISSIONS

/** Facts about a copied file. */
export type CopiedFile = { mode: number; size: number; sha256: string }

/**
 * Copies a file to the new file `to`; resolves when it is on disk. A file that grows meanwhile is copied up to its size at the
 * beginning. @param reading handles errors of the source
 */
export async function copyFile(
  from: string,
  to: string,
  reading: <T>(work: () => Promise<T>) => Promise<T | null> = (work) => work(),
): Promise<CopiedFile | null> {
  // O_NONBLOCK: a named pipe that has taken the place of the file fails instead of blocking.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
  const source = await reading(() => open(from, flags))
  if (source === null) return null
  await using _source = source
  const stat = await source.stat()
  if (!stat.isFile() || (await placeOf(source, from)) !== from)
    return reading(async () => {
      // A deleted file is no longer part of the folder.
      await lstat(from)
      throw replaced()
    })
  await using target = await open(to, 'wx', 0o600)
  const hash = createHash('sha256')
  const size = await pieces(source, stat.size, async (piece) => {
    hash.update(piece)
    await target.writeFile(piece)
  })
  await target.sync()
  return { mode: permissions(stat), size, sha256: hash.digest('hex') }
}

const replaced = (): Error => Object.assign(new Error('replaced while it was copied'), { code: 'ELOOP' })

/** Path of an open file. Where the system does not say it, the path by which it is reached by now. */
const placeOf = (file: FileHandle, path: string): Promise<string> =>
  readlink(`/proc/self/fd/${file.fd}`).catch(() => realpath(path))

/** Passes up to `size` bytes of a file on; returns their number. */
async function pieces(file: FileHandle, size: number, use: (piece: Buffer) => unknown): Promise<number> {
  const buffer = Buffer.allocUnsafe(Math.min(PIECE_BYTES, Math.max(1, size)))
  let at = 0
  while (at < size) {
    const { bytesRead } = await file.read(buffer, 0, Math.min(buffer.length, size - at), at)
    if (bytesRead === 0) break
    await use(buffer.subarray(0, bytesRead))
    at += bytesRead
  }
  return at
}

/** Size and SHA-256 of a file. @throws the system's error, `ENOENT` for a missing one. */
export async function checksum(path: string): Promise<{ size: number; sha256: string }> {
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  const { size } = await file.stat()
  const hash = createHash('sha256')
  await pieces(file, size, (piece) => hash.update(piece))
  return { size, sha256: hash.digest('hex') }
}
