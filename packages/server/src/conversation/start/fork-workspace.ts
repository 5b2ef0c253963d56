/** Makes the copy of the files that a fork starts with. Source: docs/operations.md, Checkpoints of files. */
import { existsSync } from 'node:fs'
import { rm, rmdir } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { ParleyError, type ConversationId, type ForkFiles } from '@parley/protocol'
import { writeDurably } from '../../lib/index.ts'
import type { Log } from '../../observability/index.ts'
import type { ConversationRow, Storage } from '../../storage/index.ts'
import {
  checkpointsIn,
  repositoriesMissing,
  type CheckpointPlace,
  type Checkpoints,
  type WorkspaceRemoval,
} from '../../workspace/index.ts'
import { NOT_HERE, type FilesAt, type Missing } from '../checkpoints/file-checkpoints.ts'
import { placeOfFiles, type CheckpointPlaces } from '../checkpoints/place.ts'
import type { Reading } from '../record/reading.ts'
import type { ForkedFiles } from './forked-files.ts'

export type ForkWorkspaceDeps = CheckpointPlaces & {
  checkpoints: Checkpoints | undefined
  conversations: Pick<Storage['conversations'], 'get'>
  /** Records the copy, so that it is removed with the fork. */
  made: Pick<WorkspaceRemoval, 'record'>
  log: Pick<Log, 'warn'>
}

/** The part of a conversation in memory that its files are copied through. */
type CopyFiles = <T>(
  seq: number | null,
  work: (files: FilesAt, signal: AbortSignal) => Promise<T>,
) => Promise<{ result: T } | Missing>

type Made<T> = { result: T; files: ForkFiles }

export class ForkWorkspace {
  readonly #deps: ForkWorkspaceDeps
  /** Forks that are being made. */
  readonly #making = new Set<ConversationId>()

  constructor(deps: ForkWorkspaceDeps) {
    this.#deps = deps
  }

  /**
   * Removes the copy of a fork that was cut off, so that its id can be used again.
   * @throws ParleyError `conflict` when the id is taken, or a fork with this id is being made
   */
  async discardUnfinished(id: ConversationId): Promise<void> {
    const { checkpoints, conversations, folderOf } = this.#deps
    if (this.#making.has(id) || (await conversations.get(id)) !== null)
      throw new ParleyError('conflict', `A conversation with id ${id} exists already. Choose another id.`)
    if (checkpoints !== undefined && existsSync(markIn(folderOf(id)))) await this.#discard(checkpoints, id)
  }

  async #discard(checkpoints: Checkpoints, id: ConversationId): Promise<void> {
    const { workspacesDir, folderOf } = this.#deps
    await checkpoints.discard({ workingDir: join(workspacesDir, id), gitDir: checkpointsIn(folderOf(id)) })
    await rm(markIn(folderOf(id)), { force: true })
    await rmdir(folderOf(id)).catch(() => undefined)
  }

  /**
   * Calls `create` with a copy of the files of the event `seq` (null: as they are now), or with null when there is no checkpoint of
   * them: the fork then shares the directory of its source. A copy whose conversation was not created is removed.
   * @throws ParleyError `conflict` when the id is taken, files of an earlier conversation with this id exist, or a limit is exceeded
   */
  async make<T>(
    source: Reading,
    load: () => Promise<{ copyFiles: CopyFiles }>,
    seq: number | null,
    id: ConversationId,
    create: (files: ForkedFiles | null) => Promise<T>,
  ): Promise<Made<T>> {
    const { checkpoints } = this.#deps
    const { row, record } = source
    const shared = async (missing: string): Promise<Made<T>> => ({
      result: await create(null),
      files: { outcome: 'shared', detail: `${missing} The fork works in the directory of its source.` },
    })
    if (checkpoints === undefined || placeOfFiles({ id: row.id, epoch: 0, record }, this.#deps) === null)
      return shared(NOT_HERE)
    if (this.#making.has(id) || (await this.#deps.conversations.get(id)) !== null)
      throw new ParleyError('conflict', `A conversation with id ${id} exists already. Choose another id.`)
    this.#making.add(id)
    try {
      const live = await load()
      const copied = await live.copyFiles(seq, (files, signal) =>
        this.#copied(checkpoints, files, { id, owner: row.owner }, create, signal),
      )
      return 'missing' in copied ? await shared(copied.missing) : copied.result
    } finally {
      this.#making.delete(id)
    }
  }

  async #copied<T>(
    checkpoints: Checkpoints,
    { place: source, tree, checkpoints: rows }: FilesAt,
    { id, owner }: Pick<ConversationRow, 'id' | 'owner'>,
    create: (files: ForkedFiles) => Promise<T>,
    signal: AbortSignal,
  ): Promise<Made<T>> {
    const { workspacesDir, folderOf, conversations, made, log } = this.#deps
    const root = join(workspacesDir, id)
    const to: CheckpointPlace = {
      conversationId: id,
      epoch: 0,
      workingDir: workingDirOf(source.workingDir, workspacesDir, root),
      inside: workspacesDir,
      gitDir: checkpointsIn(folderOf(id)),
    }
    const mark = markIn(folderOf(id))
    if (existsSync(root))
      throw new ParleyError('conflict', `Files of an earlier conversation with id ${id} exist. Choose another id.`)
    try {
      await writeDurably(mark, '')
      const missed = await checkpoints.copy(source, to, tree, signal)
      await made.record({ root, owner, kind: 'folder', repository: null })
      if (missed.length > 0) log.warn({ conversation_id: id, folders: missed }, 'repositories not copied for a fork')
      const lacking = missed.length === 0 ? null : repositoriesMissing(missed, checkpoints.limits)
      const files = { workingDir: to.workingDir, copiedFrom: source.workingDir, lacking, tree, checkpoints: rows }
      const result = await create(files)
      await rm(mark, { force: true })
      return { result, files: { outcome: 'copied', detail: lacking } }
    } catch (error) {
      // The conversation may exist although its creation was reported as failed.
      if ((await conversations.get(id).catch(() => undefined)) === null) await this.#discard(checkpoints, id)
      throw error
    }
  }
}

/** A file that is there while a fork is being made. */
const markIn = (folder: string): string => join(folder, 'unfinished-fork')

/** The directory of the copy: that of the source below the fork's own folder. */
function workingDirOf(source: string, workspacesDir: string, root: string): string {
  const [first, ...below] = relative(workspacesDir, source).split(sep)
  return first === '..' || first === '' ? root : join(root, ...below)
}
