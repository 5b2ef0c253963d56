/**
 * The files of the completion log of one conversation, in its folder outside the workspace.
 *
 * Invariants
 *   C1. Together they have at most `MAX_BYTES`, and there are at most `MAX_FILES`: the oldest are removed first.
 *   C2. Their bytes are counted before they are written, so that a crash leaves the counter too high until the next file, never too low.
 *   C3. A file is whole: a write that fails leaves none.
 */
import { constants } from 'node:fs'
import { lstat, mkdir, open, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { CompletionFile } from '@parley/protocol'

const MAX_BYTES = 64 * 1024 * 1024
const MAX_FILES = 1_000
const NAME = /^[\w-][\w.-]{0,199}\.json$/

export type CompletionLimits = { bytes: number; files: number }

export const completionFolder = (conversationFolder: string): string => join(conversationFolder, 'completions')

/** Oldest first. */
export async function listCompletions(folder: string): Promise<CompletionFile[]> {
  const names = (await readdir(folder).catch(absent)).filter((name) => NAME.test(name)).sort()
  const found = await Promise.all(names.map((name) => lstat(join(folder, name)).catch(() => null)))
  return names.flatMap((filename, at) => {
    const stats = found[at]
    return stats?.isFile() === true ? [{ filename, bytes: stats.size, created_at: stats.mtime.toISOString() }] : []
  })
}

/** The text of a file; null when there is none of this name. */
export async function readCompletion(folder: string, filename: string): Promise<string | null> {
  if (!NAME.test(filename)) return null
  try {
    await using file = await open(join(folder, filename), constants.O_RDONLY | constants.O_NOFOLLOW)
    return (await file.stat()).isFile() ? await file.readFile('utf8') : null
  } catch (error) {
    if (['ENOENT', 'ELOOP', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return null
    throw error
  }
}

export class CompletionFiles {
  readonly #folder: string
  readonly #count: (bytes: number) => Promise<void>
  readonly #limits: CompletionLimits
  /** Bytes by name, oldest first; null until the folder was read. */
  #known: Map<string, number> | null = null

  /** @param count stores the bytes of all files */
  constructor(
    folder: string,
    count: (bytes: number) => Promise<void>,
    limits: CompletionLimits = { bytes: MAX_BYTES, files: MAX_FILES },
  ) {
    this.#folder = folder
    this.#count = count
    this.#limits = limits
  }

  /** Adds a file, and removes those that it leaves no room for. Calls must not overlap. @throws the error of the system. */
  async add(filename: string, text: string): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 })
    const known = (this.#known ??= await this.#read())
    known.set(filename, Buffer.byteLength(text))
    const path = join(this.#folder, filename)
    try {
      for (const name of this.#surplus(known)) {
        await rm(join(this.#folder, name), { force: true })
        known.delete(name)
      }
      await this.#count(total(known))
      await writeFile(`${path}.part`, text, { mode: 0o600, flag: 'wx' })
      await rename(`${path}.part`, path)
    } catch (error) {
      this.#known = null
      await rm(`${path}.part`, { force: true }).catch(() => undefined)
      throw error
    }
  }

  #surplus(known: ReadonlyMap<string, number>): string[] {
    let [bytes, files] = [total(known), known.size]
    const surplus: string[] = []
    for (const [name, size] of known) {
      if ((bytes <= this.#limits.bytes && files <= this.#limits.files) || files === 1) break
      surplus.push(name)
      bytes -= size
      files -= 1
    }
    return surplus
  }

  /** Removes what interrupted writes have left. */
  async #read(): Promise<Map<string, number>> {
    for (const name of await readdir(this.#folder))
      if (name.endsWith('.part')) await rm(join(this.#folder, name), { force: true })
    return new Map((await listCompletions(this.#folder)).map(({ filename, bytes }) => [filename, bytes]))
  }
}

const total = (known: ReadonlyMap<string, number>): number => [...known.values()].reduce((sum, bytes) => sum + bytes, 0)

function absent(error: NodeJS.ErrnoException): string[] {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return []
  throw error
}
