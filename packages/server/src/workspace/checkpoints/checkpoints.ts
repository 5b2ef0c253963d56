/** Checkpoints of workspaces on this machine. Source: docs/operations.md, Checkpoints of files. */
import { existsSync } from 'node:fs'
import { mkdir, realpath, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { copyCheckpoints, copyRepositories } from './copy.ts'
import type { CheckpointPlace, RunCheckpointProgram } from './git.ts'
import { EMPTY_TREE } from './layout.ts'
import { CHECKPOINT_LIMITS, checkpointError, type CheckpointLimits } from './limits.ts'
import { CheckpointRepository } from './repository.ts'

export interface Checkpoints {
  readonly limits: CheckpointLimits
  /** The checkpoints of one workspace. Creates nothing before the first one. */
  open(place: CheckpointPlace): CheckpointRepository
  /**
   * Creates a workspace with the files of a checkpoint, with checkpoints of its own, and copies of the repositories in the source.
   * @param source no other call of its checkpoints may be in progress
   * @returns the folders whose repository was not copied
   * @throws ParleyError `unavailable`, or `conflict` when a limit is exceeded; parts of the copy may then exist
   */
  copy(source: CheckpointPlace, to: CheckpointPlace, tree: string, signal: AbortSignal): Promise<string[]>
  /** Removes a copy that is not going to be used. */
  discard(copy: Pick<CheckpointPlace, 'workingDir' | 'gitDir'>): Promise<void>
}

/** @param changed limits other than the usual ones */
export function openCheckpoints(run: RunCheckpointProgram, changed: Partial<CheckpointLimits> = {}): Checkpoints {
  const limits = { ...CHECKPOINT_LIMITS, ...changed }
  const open = (place: CheckpointPlace) => new CheckpointRepository(place, run, limits)
  return {
    limits,
    open,
    async copy(source, to, tree, signal) {
      await mkdir(to.workingDir, { recursive: true, mode: 0o700 })
      // The first checkpoint of an empty workspace needs no git directory.
      if (existsSync(source.gitDir))
        await copyCheckpoints(source.gitDir, to.gitDir).catch((error: Error) => {
          throw checkpointError('failed', `the checkpoints cannot be copied: ${error.message}`)
        })
      const copy = open(to)
      if (tree !== EMPTY_TREE) await copy.checkOut(tree, signal)
      const folders = tree === EMPTY_TREE ? [] : await copy.folders(tree, signal)
      return copyRepositories(source, folders, await realpath(to.workingDir), { run, limits }, signal)
    },
    async discard({ workingDir, gitDir }) {
      for (const path of [workingDir, gitDir, `${gitDir}.new`]) await rm(path, { recursive: true, force: true })
    },
  }
}

/** Name of the git directory of checkpoints in a conversation's folder. */
export const checkpointsIn = (folder: string): string => join(folder, 'checkpoints.git')
