/**
 * Read-only, size-limited view of a folder.
 *
 * Invariants
 *   F1. Of a confined folder, nothing outside its root is read, neither through `..` nor through a link. In a sandbox a
 *       link may lead to files that commands of the conversation can read as well.
 *   F2. Files beyond the limits are left out with a note; no content of a folder makes reading it fail.
 */
import { realpath } from 'node:fs/promises'
import { join, posix, relative, sep } from 'node:path'
import { isInside } from '../lib/index.ts'
import type { Workspace } from '../workspace/index.ts'

/** Bytes of one file. */
const MAX_FILE_BYTES = 256 * 1024
/** Bytes of all files that are read from one folder. */
const MAX_TOTAL_BYTES = 4 * 1024 * 1024
/** Listings and reads of one folder together. */
const MAX_LOOKS = 2000

/** Files of a workspace, or of this machine. */
export type Files = Pick<Workspace, 'stat' | 'list' | 'readFile' | 'realPath'>

export type Entry = { name: string; kind: 'file' | 'directory' | 'other' }

export class Folder {
  /** Absolute path, as commands use it. */
  readonly root: string
  /** Paths that were left out, each with its reason, for the log. */
  readonly notes: string[] = []
  readonly #files: Files
  /** Real path of the root. */
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

  /** Opens the folder; null when it does not exist or cannot be read. */
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

  /** Absolute path of a path in the folder. */
  at(path: string): string {
    return join(this.root, path)
  }

  /** Entries of a subfolder by name; a link has the kind of its target. Empty when there is no such folder. */
  async list(path: string): Promise<Entry[]> {
    const real = await this.realOf(path)
    if (real === null || !this.#mayLook(path)) return []
    const at = this.at(path)
    const entries = await this.#files.list(at, this.#signal).catch(() => [])
    this.#signal.throwIfAborted()
    const resolved = entries.map(async ({ name, kind }) => {
      if (kind !== 'other') return { name, kind }
      const stat = await this.#files.stat(join(at, name), this.#signal).catch(() => null)
      return { name, kind: stat?.kind ?? ('other' as const) }
    })
    return (await Promise.all(resolved)).toSorted((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** The text of a file; null when it does not exist or may not be read. */
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

  /** Real path; null when nothing is there, or when it leads out of a confined folder. */
  async realOf(path: string): Promise<string | null> {
    const wanted = this.at(path)
    if (this.#isConfined && !isInside(this.root, wanted)) return this.#leaveOut(path, 'it leads out of its folder')
    const real = await realPathOf(this.#files, wanted, this.#signal)
    if (real === null || !this.#isConfined || isInside(this.#real, real)) return real
    return this.#leaveOut(path, 'it is a link that leads out of its folder')
  }

  /** A real path relative to the real path of the root. */
  fromRoot(real: string): string {
    return relative(this.#real, real)
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

/** The path with slashes, as in names and patterns. */
export const plainPath = (path: string): string => path.split(sep).join(posix.sep)

async function realPathOf(files: Files, path: string, signal: AbortSignal): Promise<string | null> {
  // A workspace without `realPath` is on this machine.
  const real = files.realPath === undefined ? realpath(path) : files.realPath(path, signal)
  const found = await real.catch(() => null)
  signal.throwIfAborted()
  if (found !== null || files.realPath !== undefined) return found
  // A path may exist only inside the sandbox, where the workspace resolves its links.
  const stat = await files.stat(path, signal).catch(() => null)
  return stat === null ? null : path
}
