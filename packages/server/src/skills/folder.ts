/**
 * A folder whose files are read as far as they may be.
 *
 * Invariants
 *   F1. Where the folder is confined, nothing outside its root is read: not through `..`, not through a link. In a sandbox
 *       a link may lead to what commands of the conversation can read as well.
 *   F2. What is too large, or too much, is left out with a note; nothing in a folder makes reading it fail.
 */
import { realpath } from 'node:fs/promises'
import { isAbsolute, join, posix, relative, sep } from 'node:path'
import type { Workspace } from '../workspace/index.ts'

/** Bytes of one file. */
export const MAX_FILE_BYTES = 256 * 1024
/** Bytes of all files that are read from one folder. */
const MAX_TOTAL_BYTES = 4 * 1024 * 1024
/** Looks into the folder: listings and files together. */
const MAX_LOOKS = 2000

/** Files of a workspace, or of this machine. */
export type Files = Pick<Workspace, 'stat' | 'list' | 'readFile' | 'realPath'>

export type Entry = { name: string; kind: 'file' | 'directory' | 'other' }

export class Folder {
  /** Absolute, as commands name it. */
  readonly root: string
  /** What was left out and why, for the log. */
  readonly notes: string[] = []
  readonly #files: Files
  /** The root with every link followed. */
  readonly #real: string
  readonly #isConfined: boolean
  readonly #signal: AbortSignal
  #bytes = 0
  #looks = 0

  private constructor(files: Files, at: { root: string; real: string }, isConfined: boolean, signal: AbortSignal) {
    this.#files = files
    this.root = at.root
    this.#real = at.real
    this.#isConfined = isConfined
    this.#signal = signal
  }

  /** Null when there is no such folder, or none that may be seen. */
  static async open(
    files: Files,
    path: string,
    signal: AbortSignal,
    { isConfined = true }: { isConfined?: boolean } = {},
  ): Promise<Folder | null> {
    const real = await realPathOf(files, path, signal)
    if (real === null) return null
    const stat = await files.stat(path, signal).catch(() => null)
    signal.throwIfAborted()
    return stat?.kind === 'directory' ? new Folder(files, { root: path, real }, isConfined, signal) : null
  }

  /** Where a path of the folder is. */
  at(path: string): string {
    return join(this.root, path)
  }

  /** What is in a folder below, in the order of names; links are told as what they lead to. Empty when there is none. */
  async list(path: string): Promise<Entry[]> {
    const real = await this.realOf(path)
    if (real === null || !this.#mayLook(path)) return []
    const at = this.at(path)
    const entries = await this.#files.list(at, this.#signal).catch(() => [])
    this.#signal.throwIfAborted()
    const told = entries.map(async ({ name, kind }) => {
      if (kind !== 'other') return { name, kind }
      const stat = await this.#files.stat(join(at, name), this.#signal).catch(() => null)
      return { name, kind: stat?.kind ?? ('other' as const) }
    })
    return (await Promise.all(told)).toSorted((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** The text of a file; null when there is none, or none that may be read. */
  async read(path: string): Promise<string | null> {
    const real = await this.realOf(path)
    if (real === null || !this.#mayLook(path)) return null
    const at = this.at(path)
    const stat = await this.#files.stat(at, this.#signal).catch(() => null)
    if (stat?.kind !== 'file') return null
    if (stat.size > MAX_FILE_BYTES) return this.#leaveOut(path, `it is larger than ${MAX_FILE_BYTES} bytes`)
    if (this.#bytes + stat.size > MAX_TOTAL_BYTES)
      return this.#leaveOut(path, `more than ${MAX_TOTAL_BYTES} bytes were read already`)
    const bytes = await this.#files.readFile(at, this.#signal).catch(() => null)
    this.#signal.throwIfAborted()
    if (bytes === null) return this.#leaveOut(path, 'it cannot be read')
    this.#bytes += bytes.byteLength
    const text = Buffer.from(bytes).toString('utf8')
    return text.includes('\0') ? this.#leaveOut(path, 'it is no text') : text
  }

  /** A path with its links followed; null when nothing is there, or it leads out of a confined folder. */
  async realOf(path: string): Promise<string | null> {
    const wanted = this.at(path)
    if (this.#isConfined && !isWithin(this.root, wanted)) return this.#leaveOut(path, 'it leads out of its folder')
    const real = await realPathOf(this.#files, wanted, this.#signal)
    if (real === null || !this.#isConfined || isWithin(this.#real, real)) return real
    return this.#leaveOut(path, 'it is a link that leads out of its folder')
  }

  note(path: string, why: string): void {
    this.#leaveOut(path, why)
  }

  #mayLook(path: string): boolean {
    this.#looks += 1
    if (this.#looks === MAX_LOOKS) this.#leaveOut(path, `there are more than ${MAX_LOOKS} files and folders`)
    return this.#looks < MAX_LOOKS
  }

  #leaveOut(path: string, why: string): null {
    this.notes.push(`${path === '' ? '.' : path}: ${why}`)
    return null
  }
}

export function isWithin(root: string, path: string): boolean {
  const way = relative(root, path)
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way))
}

/** With slashes, as it stands in names and patterns. */
export const plainPath = (path: string): string => path.split(sep).join(posix.sep)

async function realPathOf(files: Files, path: string, signal: AbortSignal): Promise<string | null> {
  // A workspace that cannot tell is on this machine.
  const real = files.realPath === undefined ? realpath(path) : files.realPath(path, signal)
  const found = await real.catch(() => null)
  signal.throwIfAborted()
  if (found !== null || files.realPath !== undefined) return found
  // Behind walls a path may have a name that it has nowhere else; its links are then followed where the walls are.
  const stat = await files.stat(path, signal).catch(() => null)
  return stat === null ? null : path
}
