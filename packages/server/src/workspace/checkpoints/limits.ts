/** The limits of checkpoints, and the refusals that name them. Source: docs/operations.md, Checkpoints of files. */
import { ParleyError } from '@parley/protocol'

export type CheckpointLimits = {
  /** Bytes of the largest file that is part of a checkpoint. */
  fileBytes: number
  /** Files that one checkpoint may add or change, and their bytes together. */
  changedFiles: number
  changedBytes: number
  /** Files, and their bytes, that are recorded before the objects are packed. */
  looseFiles: number
  looseBytes: number
  /** Bytes of all packed objects of a conversation, above which the older half of its checkpoints is forgotten. */
  keptBytes: number
  /** Bytes of the largest repository that a fork gets a copy of, and how many of them. */
  repositoryBytes: number
  repositories: number
}

const KIB = 1024
const MIB = 1024 * KIB
const GIB = 1024 * MIB
const UNITS = [
  ['GiB', GIB],
  ['MiB', MIB],
  ['KiB', KIB],
] as const

export const CHECKPOINT_LIMITS: CheckpointLimits = {
  fileBytes: 10 * MIB,
  changedFiles: 200_000,
  changedBytes: GIB,
  looseFiles: 1_000,
  looseBytes: 64 * MIB,
  keptBytes: GIB,
  repositoryBytes: GIB,
  repositories: 50,
}

/**
 * A refusal to make or restore a checkpoint. `too_large` is a `conflict`, because the same request can succeed only after the files
 * have changed; the others are `unavailable`.
 */
export const checkpointError = (reason: 'too_large' | 'outside' | 'failed', message: string): ParleyError =>
  new ParleyError(reason === 'too_large' ? 'conflict' : 'unavailable', message, {
    details: { reason: `checkpoint_${reason}` },
  })

/** The refusal of a checkpoint with too many changes. @param found what there is, in words */
export const tooLarge = (found: string, { changedFiles, changedBytes }: CheckpointLimits): ParleyError =>
  checkpointError(
    'too_large',
    `The files are not recorded: there are ${found}, and one checkpoint takes at most ${count(changedFiles)} files with ${size(changedBytes)}. Name generated files in a .gitignore, or remove them.`,
  )

/** New or changed files, in words. */
export const newOrChanged = (files: number, bytes: number): string =>
  `${count(files)} new or changed files with ${size(bytes)}`

/** Why repositories are missing in a fork, and what to do. @param folders relative to the working directory; not empty */
export function repositoriesMissing(folders: readonly string[], limits: CheckpointLimits): string {
  const named = folders.slice(0, MAX_NAMED).map((folder) => JSON.stringify(folder))
  if (folders.length > MAX_NAMED) named.push(`${folders.length - MAX_NAMED} more`)
  const { repositories, repositoryBytes } = limits
  return `The copy has no .git in these folders: ${named.join(', ')}. A fork copies at most ${count(repositories)} repositories of at most ${size(repositoryBytes)} each, and none that programs change meanwhile. Clone these again where they are needed.`
}

/** Folders that a text names. */
const MAX_NAMED = 20

const count = (number: number): string => number.toLocaleString('en')

function size(bytes: number): string {
  const unit = UNITS.find(([, of]) => bytes >= of && bytes % of === 0)
  return unit === undefined ? `${count(bytes)} bytes` : `${count(bytes / unit[1])} ${unit[0]}`
}
