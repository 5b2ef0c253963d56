/**
 * Deletes directory trees of any size and depth between other work: one call at a time, and never through a symlink. A directory is
 * emptied by moving its subdirectories beside it, so that no path grows with the depth of the tree, and a later process can
 * continue at any point.
 */
import type { Dirent } from 'node:fs'
import { chmod, mkdir, opendir, rename, rmdir, unlink } from 'node:fs/promises'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'

/** Name of a folder of directories that are being deleted; beside the directories, so that they are on one file system. */
export const ASIDE = '.removed'

type Entry = Dirent<Buffer>

/** Moves a directory into the folder `aside`, which is created if necessary; returns its path there. */
export async function setAside(directory: string, aside: string): Promise<string> {
  await mkdir(aside, { recursive: true, mode: 0o700 })
  const path = join(aside, randomUUID())
  await rename(directory, path)
  return path
}

/**
 * Deletes everything in the folder `aside`; an absent one is empty. Resolves when nothing is left, when the signal aborts, or when
 * the rest cannot be deleted.
 * @param failed is called with the error of each directory that stays
 */
export async function deleteAside(aside: string, signal: AbortSignal, failed: (error: unknown) => void): Promise<void> {
  const left = new Set<string>()
  for (let deleted = -1; deleted !== 0 && !signal.aborted;) {
    deleted = 0
    for await (const entry of entriesOf(Buffer.from(aside))) {
      const name = entry.name.toString('latin1')
      if (signal.aborted || left.has(name)) continue
      try {
        await deleteOne(Buffer.from(aside), entry, signal)
        deleted += 1
      } catch (error) {
        left.add(name)
        failed(error)
      }
    }
  }
}

async function deleteOne(aside: Buffer, entry: Entry, signal: AbortSignal): Promise<void> {
  const path = inside(aside, entry.name)
  if (!entry.isDirectory()) return unlink(path)
  for await (const child of entriesOf(path)) {
    if (signal.aborted) return
    const at = inside(path, child.name)
    if (!child.isDirectory()) {
      await unlink(at)
      continue
    }
    // Without the permission to write it, a directory cannot be moved.
    await chmod(at, 0o700)
    await rename(at, inside(aside, Buffer.from(randomUUID())))
  }
  await rmdir(path)
}

/** The entries of a directory, read in pieces. Names are bytes, because they need not be text. */
async function* entriesOf(directory: Buffer): AsyncGenerator<Entry> {
  try {
    await chmod(directory, 0o700)
    const opened = await opendir(directory, { encoding: 'buffer' as BufferEncoding })
    yield* opened as unknown as AsyncIterable<Entry>
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}

const inside = (directory: Buffer, name: Buffer): Buffer => Buffer.concat([directory, Buffer.from('/'), name])
