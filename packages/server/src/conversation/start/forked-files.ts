/** What a fork with its own copy of the files contains: its directory, its checkpoints, and a note for the agent. */
import { newEventId, type Draft, type StoredEvent } from '@parley/protocol'
import type { CheckpointRow } from '../../storage/index.ts'
import type { NavigationTarget } from '../branch/navigation-target.ts'
import { serviceMessage } from '../drafts.ts'
import type { ConversationRecord } from '../record/record.ts'

/** A copy of the source's files. */
export type ForkedFiles = {
  workingDir: string
  /** Working directory of the source. */
  copiedFrom: string
  /** What the copy lacks, for people and the agent; null: nothing. */
  lacking: string | null
  /** The tree of the copied files. */
  tree: string
  /** The checkpoints of the source, oldest first. */
  checkpoints: readonly CheckpointRow[]
}

/**
 * The checkpoints of a fork whose events are numbered from 1: each of its events keeps its files.
 * @param copied the copied events with their `seq` in the source
 * @param length number of the fork's events
 */
export function carriedCheckpoints(
  { tree, checkpoints }: Pick<ForkedFiles, 'tree' | 'checkpoints'>,
  copied: readonly Pick<StoredEvent, 'seq'>[],
  length: number,
): CheckpointRow[] {
  const carried: CheckpointRow[] = []
  const add = (seq: number, row: string) => {
    if (carried.at(-1)?.tree !== row) carried.push({ seq, tree: row })
  }
  let at = 0
  for (const [index, { seq }] of copied.entries()) {
    while (at < checkpoints.length && checkpoints[at]!.seq <= seq) at++
    const last = checkpoints[at - 1]
    if (last !== undefined) add(last.seq === 0 ? 0 : index + 1, last.tree)
  }
  add(length, tree)
  return carried
}

/** The record of the source with the fork's directory in place of the source's. */
export function movedRecord(source: ConversationRecord, { workingDir, copiedFrom }: ForkedFiles): ConversationRecord {
  const { agent } = source
  const suffix = agent.agent_context?.system_message_suffix ?? null
  const moved =
    suffix === null
      ? agent
      : {
          ...agent,
          agent_context: { ...agent.agent_context!, system_message_suffix: suffix.replaceAll(copiedFrom, workingDir) },
        }
  return { ...source, agent: moved, worktree: null, workspace: { ...source.workspace, working_dir: workingDir } }
}

/**
 * Tells the agent that its directory is another one: the system prompt and earlier calls name that of the source. Whether a step is
 * owed stays as it is.
 */
export function movedNote({ workingDir, copiedFrom, lacking }: ForkedFiles, target: NavigationTarget): Draft[] {
  const text = [
    `This conversation is a copy, and so are its files: your working directory is now ${workingDir}. It holds the files as they were at this point.`,
    `Paths below ${copiedFrom} belong to the conversation that this one was copied from: use the same paths below ${workingDir} instead.`,
    ...(lacking === null ? [] : [lacking]),
  ].join('\n')
  const id = newEventId()
  const note: Draft = { ...serviceMessage(text), id }
  if (target.owes_step || target.open_actions.length > 0) return [note]
  return [note, { kind: 'LeafMovedEvent', source: 'environment', ...target, to: id }]
}
