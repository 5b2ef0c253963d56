/** The changes of a workspace since its last checkpoint: which files a checkpoint takes, and which it leaves out. */
import { accessSync, constants, lstatSync, type Stats } from 'node:fs'
import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import { TimeSlices } from '../../lib/index.ts'
import { checkpointError, names, type CheckpointGit } from './git.ts'

/** Bytes of the largest file that is part of a checkpoint. */
export const MAX_FILE_BYTES = 10 * 1024 * 1024
/** Bytes, and files, that one checkpoint may add. */
const MAX_ADDED_BYTES = 1024 * 1024 * 1024
const MAX_ADDED_FILES = 200_000
/** Levels of repositories inside repositories whose files are part of a checkpoint. */
const MAX_DEPTH = 4

const LIST = ['ls-files', '-z', '--others', '--modified', '--exclude-standard']
const LIST_IGNORED = ['ls-files', '-z', '--cached', '--ignored', '--exclude-standard']

/**
 * Names relative to the work tree. `taken`: added, changed or missing files, with their `bytes` together. `left`: leave the
 * checkpoint although something is there.
 */
export type Changes = { taken: Buffer[]; left: Buffer[]; bytes: number }

/** Finds the changes of one workspace. Keeps what it knows of the repository of the workspace between two calls. */
export class ChangeFinder {
  readonly #git: CheckpointGit
  readonly #gitDir: string
  /** Modification of the repository's own index when its ignored files were listed. */
  #ownIndex = ''

  constructor(git: CheckpointGit, gitDir: string) {
    this.#git = git
    this.#gitDir = gitDir
  }

  /** @throws ParleyError `unavailable` when git fails, or the changes exceed the limits of a checkpoint */
  async find(workTree: string, signal: AbortSignal): Promise<Changes> {
    const found = await this.#list(workTree, Buffer.alloc(0), 0, signal)
    if (await this.#hasNewIndex(workTree)) found.push(...(await this.#trackedIgnored(workTree, signal)))
    const changes = await sorted(workTree, found)
    if (found.some((name) => isIgnoreFile(name))) changes.left.push(...(await this.#nowIgnored(workTree, signal)))
    return changes
  }

  /** Git does not look into a repository inside the workspace, unless files of it are in the index already. */
  async #list(root: string, prefix: Buffer, depth: number, signal: AbortSignal): Promise<Buffer[]> {
    const found: Buffer[] = []
    const workTree = join(root, prefix.toString())
    const inside = depth === 0 ? {} : { workTree, env: { GIT_INDEX_FILE: join(this.#gitDir, 'no-index') } }
    for (const name of names(await this.#git.ask(LIST, signal, inside))) {
      const path = Buffer.concat([prefix, name])
      if (name.at(-1) !== SLASH) found.push(path)
      else if (depth < MAX_DEPTH && isText(path)) found.push(...(await this.#list(root, path, depth + 1, signal)))
    }
    return found
  }

  /** Files that the repository of the workspace tracks although they are ignored. Only its index is read, not its configuration. */
  async #trackedIgnored(workTree: string, signal: AbortSignal): Promise<Buffer[]> {
    const env = { GIT_INDEX_FILE: join(workTree, '.git', 'index') }
    // An index in a form that only its own repository explains.
    const output = await this.#git.ask(LIST_IGNORED, signal, { env }).catch(() => Buffer.alloc(0))
    signal.throwIfAborted()
    return names(output)
  }

  async #hasNewIndex(workTree: string): Promise<boolean> {
    const folder = await lstat(join(workTree, '.git')).catch(() => null)
    const index = await lstat(join(workTree, '.git', 'index')).catch(() => null)
    const isOwn = folder?.isDirectory() === true && index?.isFile() === true
    const now = isOwn ? `${index.mtimeMs} ${index.ctimeMs} ${index.size} ${index.ino}` : ''
    const isNew = isOwn && now !== this.#ownIndex
    this.#ownIndex = now
    return isNew
  }

  async #nowIgnored(workTree: string, signal: AbortSignal): Promise<Buffer[]> {
    const ignored = names(await this.#git.ask(LIST_IGNORED, signal))
    if (ignored.length === 0) return []
    const isOwn = (await lstat(join(workTree, '.git')).catch(() => null))?.isDirectory() === true
    const tracked = new Set(isOwn ? (await this.#trackedIgnored(workTree, signal)).map(key) : [])
    return ignored.filter((name) => !tracked.has(key(name)))
  }
}

const SLASH = 0x2f

const key = (name: Buffer): string => name.toString('latin1')
const isText = (name: Buffer): boolean => Buffer.from(name.toString()).equals(name)
const isIgnoreFile = (name: Buffer): boolean => {
  const text = key(name)
  return text === '.gitignore' || text.endsWith('/.gitignore')
}

/**
 * Separates files that can be part of a checkpoint from others. Looks at each file at once, in slices, because thousands of
 * asynchronous calls take longer.
 */
async function sorted(workTree: string, found: readonly Buffer[]): Promise<Changes> {
  const changes: Changes = { taken: [], left: [], bytes: 0 }
  const root = Buffer.from(`${workTree}/`)
  const folders = new Map<string, boolean>()
  const slices = new TimeSlices()
  for (const name of found) {
    await slices.next()
    const path = Buffer.concat([root, name])
    const stat = isReached(root, name, folders) ? statOf(path) : 'unknown'
    const isFile = typeof stat === 'object' && stat.isFile() && stat.size <= MAX_FILE_BYTES && isReadable(path)
    if (isFile) changes.bytes += stat.size
    const isTaken = isFile || stat === 'missing' || (stat !== 'unknown' && stat.isSymbolicLink())
    changes[isTaken ? 'taken' : 'left'].push(name)
  }
  if (changes.bytes > MAX_ADDED_BYTES || changes.taken.length > MAX_ADDED_FILES) {
    const what = `${changes.taken.length} files with ${changes.bytes} bytes have changed`
    throw checkpointError('too_large', `${what}; a checkpoint takes ${MAX_ADDED_FILES} files, ${MAX_ADDED_BYTES} bytes`)
  }
  return changes
}

/** Those of `paths` that are files or symlinks in the workspace. */
export function present(workTree: string, paths: readonly Buffer[]): Buffer[] {
  const root = Buffer.from(`${workTree}/`)
  const folders = new Map<string, boolean>()
  return paths.filter((name) => {
    const stat = isReached(root, name, folders) ? statOf(Buffer.concat([root, name])) : 'unknown'
    return typeof stat === 'object' && (stat.isFile() || stat.isSymbolicLink())
  })
}

/** False when a folder above the file is a symlink, or is no folder any more: git has seen another file through it. */
function isReached(root: Buffer, name: Buffer, known: Map<string, boolean>): boolean {
  for (let end = name.indexOf(SLASH); end !== -1; end = name.indexOf(SLASH, end + 1)) {
    const folder = name.subarray(0, end)
    let isFolder = known.get(key(folder))
    if (isFolder === undefined) {
      const stat = statOf(Buffer.concat([root, folder]))
      isFolder = stat === 'missing' || (stat !== 'unknown' && stat.isDirectory())
      known.set(key(folder), isFolder)
    }
    if (!isFolder) return false
  }
  return true
}

function statOf(path: Buffer): Stats | 'missing' | 'unknown' {
  try {
    return lstatSync(path)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'missing' : 'unknown'
  }
}

function isReadable(path: Buffer): boolean {
  try {
    accessSync(path, constants.R_OK)
    return true
  } catch {
    return false
  }
}
