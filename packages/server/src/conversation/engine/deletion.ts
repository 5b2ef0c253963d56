/** The deletion of a conversation: what runs is ended, the record goes, and the release of its workspace follows. */
import type { ConversationId } from '@parley/protocol'
import type { Coordination } from '../../coordination/index.ts'
import { hasHooks } from '../../hooks/index.ts'
import { endsInTime } from '../../lib/index.ts'
import type { Log } from '../../observability/index.ts'
import type { OutboxDraft } from '../../storage/index.ts'
import type { Actor, Conversations } from '../conversations.ts'
import { expectHere } from '../live/owned-elsewhere.ts'
import type { Roster } from '../live/roster.ts'
import { runEnd } from '../log/run-end.ts'
import { notification } from '../record/notify.ts'
import { isReady } from '../record/start-status.ts'
import type { RunObserver } from '../run/running.ts'
import type { StartDeps } from '../start/start.ts'
import type { ConversationAccess } from './access.ts'
import type { Releases } from './releases.ts'
import type { StoppedProcesses } from './stopped-processes.ts'

/**
 * Milliseconds that a deletion without hooks waits for work that it cancels, for the end of all processes, and for the removal of its
 * workspace. A runner that hangs answers neither; the release is then owed, and settled after the answer. Source: docs/operations.md,
 * Workspaces of deleted conversations.
 */
const DELETE_MS = { work: 2_000, processes: 4_500, all: 30_000 }

export type DeletionDeps = {
  start: StartDeps
  releases: Pick<Releases, 'settle'>
  runs: RunObserver
  /** True for a user of whom nothing may run. */
  isSuspended: (user: string) => boolean
  log: Pick<Log, 'warn'>
  access: ConversationAccess
  coordination: Pick<Coordination, 'isShared' | 'claim'>
  roster: Roster
  stopped: StoppedProcesses
}

type Deleted = { id: ConversationId; actor: Actor; workspace: NonNullable<Parameters<Conversations['delete']>[2]> }

/** @throws ParleyError `unavailable` with the owner when another node has the conversation (`ownedElsewhere`) */
export async function deletion(
  { id, actor, workspace }: Deleted,
  { start, releases, runs, isSuspended, log, access, coordination, roster, stopped }: DeletionDeps,
): ReturnType<Conversations['delete']> {
  // Its processes, and files beside its log, are where its owner is.
  if (coordination.isShared) {
    await access.row(id, actor)
    expectHere(id, await coordination.claim(id))
  }
  // Also one that cannot be read.
  const { row, record, state } = await access.readOrMark(await access.row(id, actor))
  const runsHooks = isReady(state) && !isSuspended(actor.user)
  if (runsHooks && hasHooks(state.hook_config, 'SessionEnd')) await endSession(id, roster, log)
  const late = AbortSignal.timeout(DELETE_MS.processes)
  const tooLate = AbortSignal.timeout(DELETE_MS.all)
  let evicted: Promise<void>
  {
    // A copy that a request loads now would work on a log that is removed under it.
    using _hold = roster.hold(id)
    evicted = roster.evict(id, 'deleted')
    await endsInTime(evicted, AbortSignal.timeout(DELETE_MS.work))
    try {
      await start.storage.conversations.delete(id, await deletionNotice(id, actor, access, start), workspace)
    } catch (error) {
      // Nothing is deleted, so its run continues.
      if (state.execution_status === 'running')
        roster.resume(id).catch((err: unknown) => log.warn({ conversation_id: id, err }, 'run not continued'))
      throw error
    }
  }
  roster.deleted(id)
  const ended = runEnd(state.execution_status, { ...state, execution_status: 'deleting' })
  if (ended !== null) await runs.ended(id, record, ended)
  const ending = Promise.allSettled([evicted, stopped.settled(id)])
  return releases.settle({ id, owner: row.owner, record, workspace }, { ending, late, tooLate })
}

/** Runs the hooks at the end of a session. Their failure does not stop a deletion. */
async function endSession(id: ConversationId, roster: Roster, log: Pick<Log, 'warn'>): Promise<void> {
  try {
    await (await roster.load(id)).endSession()
  } catch (error) {
    log.warn({ conversation_id: id, err: error }, 'hooks of a deleted conversation not run')
  }
}

/** The notifications of the deletion of a conversation that has left memory. */
async function deletionNotice(
  id: ConversationId,
  actor: Actor,
  access: ConversationAccess,
  { stamps, notifies }: StartDeps,
): Promise<OutboxDraft[]> {
  if (!notifies()) return []
  const { row, record, state } = await access.readOrMark(await access.row(id, actor))
  const deleted = { ...row, updated_at: stamps.now().toISOString() }
  return [notification('conversation.deleted', { row: deleted, record, state })]
}
