/**
 * Checkpoints of one workspace: its files as git trees.
 *
 * Invariants
 *   C1. Git executes nothing that is in the workspace, reads no configuration of it, and changes no content on the way in or out.
 *   C2. A checkpoint costs a comparison of the workspace with the index, and the files that have changed, however many there were before.
 *   C3. Nothing is written outside of the workspace and the git directory: git replaces a symlink and does not follow it.
 *   C4. Calls of one object do not overlap.
 */
import { readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ChangeFinder, present } from './changes.ts'
import {
  checkpointError,
  CheckpointGit,
  isFailure,
  listed,
  names,
  type CheckpointPlace,
  type RunCheckpointProgram,
} from './git.ts'
import { EMPTY_TREE, makeGitDirectory, REFS } from './layout.ts'

/** Attempts at a checkpoint while programs change the files that git reads. */
const ATTEMPTS = 3
/** Objects, and bytes of files, after which the objects are packed. */
const PACK_FILES = 1_000
const PACK_BYTES = 64 * 1024 * 1024
/** Names in one input of git. */
const BATCH = 20_000

/** A file that differs between two trees. */
export type FileChange = { status: 'added' | 'changed' | 'deleted'; path: string }

export class CheckpointRepository {
  readonly #place: CheckpointPlace
  readonly #git: CheckpointGit
  readonly #finder: ChangeFinder
  /** The tree of the index; null: not known. */
  #tree: string | null = null
  #isPrepared = false
  /** Added since the objects were packed. */
  #loose = { files: 0, bytes: 0 }

  constructor(place: CheckpointPlace, run: RunCheckpointProgram) {
    this.#place = place
    this.#git = new CheckpointGit(place, run)
    this.#finder = new ChangeFinder(this.#git, place.gitDir)
  }

  /**
   * Returns the tree of the files as they are now. While programs write, it is the tree of some moment in between for each file.
   * @throws ParleyError `unavailable` when the workspace exceeds the limits, is missing, or git fails
   */
  async take(signal: AbortSignal): Promise<string> {
    const workTree = await this.#git.workTree()
    if (this.#tree === null && (await this.#isEmpty(workTree))) return EMPTY_TREE
    await this.#prepare()
    for (let attempt = 1; ; attempt++) {
      try {
        return (this.#tree = await this.#record(workTree, signal))
      } catch (error) {
        this.#tree = null
        // A file that changes while git reads it is a failure of git; the next attempt lists it again.
        if (signal.aborted || attempt === ATTEMPTS || !isFailure(error)) throw error
      }
    }
  }

  async #record(workTree: string, signal: AbortSignal): Promise<string> {
    const { taken, left, bytes } = await this.#finder.find(workTree, signal)
    if (this.#tree !== null && taken.length === 0 && !(await this.#holds(left, signal))) return this.#tree
    if (left.length > 0) await this.#update(['--force-remove'], left, signal)
    await this.#update(['--add', '--remove', '--replace'], taken, signal)
    this.#loose.files += taken.length + 1
    this.#loose.bytes += bytes
    return this.#writeTree(signal)
  }

  /** True when so many objects were added that packing them is worth its time. */
  get isDueForPacking(): boolean {
    return this.#loose.files >= PACK_FILES || this.#loose.bytes >= PACK_BYTES
  }

  /** True when the index holds one of these files, which are not part of a checkpoint any more. */
  async #holds(left: readonly Buffer[], signal: AbortSignal): Promise<boolean> {
    if (left.length === 0) return false
    const paths = left.slice(0, 1000).map((path) => path.toString())
    return (await this.#git.ask(['ls-files', '-z', '--', ...paths], signal)).length > 0 || left.length > 1000
  }

  /**
   * Makes the files of the workspace those of a tree; ignored files stay. `takeBefore` precedes it.
   * @throws ParleyError `unavailable`; the files are then partly those of the tree
   */
  async checkOut(tree: string, signal: AbortSignal): Promise<void> {
    await this.#prepare()
    this.#tree = null
    await this.#git.ask(['read-tree', '--reset', '-u', tree], signal)
    this.#tree = tree
  }

  /** Returns the tree of the files as they are now, with the ignored ones that a checkout of `tree` would replace. */
  async takeBefore(tree: string, signal: AbortSignal): Promise<string> {
    await this.take(signal)
    await this.#prepare()
    const current = await this.#writeTree(signal)
    const args = ['diff-tree', '-r', '-z', '--no-renames', '--name-only', '--diff-filter=A', current, tree]
    const added = names(await this.#git.ask(args, signal))
    const inTheWay = present(await this.#git.workTree(), added)
    if (inTheWay.length === 0) return current
    this.#tree = null
    await this.#update(['--add', '--remove', '--replace'], inTheWay, signal)
    return this.#writeTree(signal)
  }

  /** The files that differ between two trees, at most `limit`, and how many there are. */
  async changes(from: string, to: string, limit: number, signal: AbortSignal) {
    await this.#prepare()
    const args = ['diff-tree', '-r', '-z', '--no-renames', '--name-status', from, to]
    const fields = names(await this.#git.ask(args, signal))
    const files: FileChange[] = []
    for (let at = 0; at < Math.min(fields.length, 2 * limit); at += 2) {
      const status = STATUS[fields[at]!.toString()] ?? 'changed'
      files.push({ status, path: fields[at + 1]!.toString() })
    }
    return { files, count: fields.length / 2 }
  }

  /** Folders of a tree, as paths relative to the workspace. Those that are no text are left out. */
  async folders(tree: string, signal: AbortSignal): Promise<string[]> {
    const output = await this.#git.ask(['ls-tree', '-r', '-d', '-z', '--name-only', tree], signal)
    return names(output).flatMap((name) => (Buffer.from(name.toString()).equals(name) ? [name.toString()] : []))
  }

  /** Keeps the objects of a tree until `forgetExcept` is called without it. */
  async keep(tree: string): Promise<void> {
    if (tree !== EMPTY_TREE) await writeFile(join(this.#place.gitDir, REFS, tree), `${tree}\n`)
  }

  /** Packs the objects and returns their bytes. */
  async pack(signal: AbortSignal): Promise<number> {
    if (!(await this.#isMade())) return 0
    this.#loose = { files: 0, bytes: 0 }
    await this.#git.ask(['pack-refs', '--all'], signal)
    await this.#git.ask(['repack', '-a', '-d', '-q'], signal)
    await this.#git.ask(['prune', '--expire=now'], signal)
    const output = (await this.#git.ask(['count-objects', '-v'], signal)).toString()
    const kibibytes = [...output.matchAll(/^size(?:-pack)?: (\d+)$/gm)].map(([, size]) => Number(size))
    return kibibytes.reduce((sum, size) => sum + size, 0) * 1024
  }

  /** Lets the next `pack` remove what none of these trees needs. */
  async forgetExcept(trees: readonly string[], signal: AbortSignal): Promise<void> {
    const known = (await this.#git.ask(['for-each-ref', '--format=%(refname)', `${REFS}/`], signal)).toString()
    const kept = new Set(trees.map((tree) => `${REFS}/${tree}`))
    const gone = known.split('\n').filter((name) => name !== '' && !kept.has(name))
    const stdin = Buffer.from(gone.map((name) => `delete ${name}\n`).join(''))
    await this.#git.ask(['update-ref', '--stdin'], signal, { stdin })
  }

  async #update(options: readonly string[], paths: readonly Buffer[], signal: AbortSignal): Promise<void> {
    for (let from = 0; from < paths.length; from += BATCH) {
      const stdin = listed(paths.slice(from, from + BATCH))
      await this.#git.ask(['update-index', '-z', ...options, '--stdin'], signal, { stdin })
    }
  }

  async #writeTree(signal: AbortSignal): Promise<string> {
    const tree = (await this.#git.ask(['write-tree'], signal)).toString().trim()
    if (!/^[0-9a-f]{40}$/.test(tree)) throw checkpointError('failed', 'git has written no tree for a checkpoint')
    return tree
  }

  async #prepare(): Promise<void> {
    if (this.#isPrepared) return
    await makeGitDirectory(this.#place.gitDir)
    // Left by a git that was killed. The one that held it has ended: the runner ends it with the connection of its server.
    await rm(join(this.#place.gitDir, 'index.lock'), { force: true })
    this.#isPrepared = true
  }

  async #isEmpty(workTree: string): Promise<boolean> {
    return (await readdir(workTree)).length === 0 && !(await this.#isMade())
  }

  async #isMade(): Promise<boolean> {
    return (await stat(this.#place.gitDir).catch(() => null)) !== null
  }
}

const STATUS: Readonly<Record<string, FileChange['status']>> = { A: 'added', D: 'deleted' }
