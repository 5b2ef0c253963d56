/** What a deleted conversation leaves behind: its processes, its folder and its workspace. Owed until it is done, also by a later process. */
import type { ConversationId, DeletedWorkspace } from '@parley/protocol'
import { backoffMs, endsInTime, sleep, type Backoff } from '../../lib/index.ts'
import type { Log } from '../../observability/index.ts'
import type { OwedRelease, Storage } from '../../storage/index.ts'
import { removeTree, type WorkspaceRemoval, type Workspaces } from '../../workspace/index.ts'
import { remoteOf, type ConversationRecord } from '../record/record.ts'

/** Waits between repetitions of a release that failed. */
const BACKOFF: Backoff = { baseMs: 1_000, maxMs: 60_000 }

export type ReleaseDeps = {
  conversations: Pick<Storage['conversations'], 'owedReleases' | 'released'>
  workspaces: Pick<Workspaces, 'release'>
  removal: Pick<WorkspaceRemoval, 'settle' | 'recover'>
  folderOf: (id: ConversationId) => string
  readRecord: (text: string) => ConversationRecord
  log: Pick<Log, 'warn'>
  /** Default: 1 s to 1 min. */
  backoff?: Backoff | undefined
}

/** A deleted conversation. `record` is null when it cannot be read. */
type Deleted = Pick<OwedRelease, 'id' | 'owner' | 'workspace'> & { record: ConversationRecord | null }

/** How long a caller waits for the release of a deleted conversation; what is left then continues in the background. */
type ReleaseLimits = {
  /** The work of the conversation that still ends. Nothing is released before it has settled. */
  ending?: Promise<unknown>
  /** Aborts when the caller no longer waits for processes. */
  late?: AbortSignal
  /** Aborts when the caller no longer waits for the decision about the workspace: those before it may take long. */
  tooLate?: AbortSignal
}

export type Releases = {
  /**
   * Ends the processes of a deleted conversation, removes its folder, and removes or keeps its workspace. Never rejects: a failure is
   * logged, and repeated in the background and by the next start.
   */
  settle(deleted: Deleted, limits?: ReleaseLimits): Promise<DeletedWorkspace>
  /** Settles what earlier processes left. */
  recover(): Promise<void>
  /** Ends the repetitions. */
  close(): void
}

export function openReleases(deps: ReleaseDeps): Releases {
  const { conversations, workspaces, removal, folderOf, readRecord, log, backoff = BACKOFF } = deps
  const closing = new AbortController()
  const endProcesses = async ({ id, record }: Deleted, ending?: Promise<unknown>): Promise<void> => {
    await ending?.catch(() => undefined)
    await workspaces.release(id, record === null ? null : remoteOf(record.workspace))
  }
  /** One attempt. Null: it has to be repeated. */
  const release = async (deleted: Deleted, attempt: number, ended: Promise<void>): Promise<DeletedWorkspace | null> => {
    const { id, owner, workspace: choice } = deleted
    try {
      await ended
      // A process that is ending may still write there.
      await removeTree(folderOf(id))
      const workspace = await removal.settle({ owner, directory: directoryOf(deleted), choice })
      await conversations.released(id)
      return workspace
    } catch (error) {
      log.warn({ conversation_id: id, attempt, err: error }, 'deleted conversation not released, to be repeated')
      return null
    }
  }
  const repeat = async (deleted: Deleted): Promise<void> => {
    for (let attempt = 2, isDone = false; !isDone; attempt += 1) {
      await sleep(
        backoffMs(backoff, attempt - 1, () => 1),
        closing.signal,
      )
      isDone = (await release(deleted, attempt, endProcesses(deleted))) !== null
    }
  }
  const settle: Releases['settle'] = async (deleted, { ending, late, tooLate } = {}) => {
    const ended = endProcesses(deleted, ending)
    const settled = release(deleted, 1, ended).then((workspace) => {
      // The only failure of the repetitions is the end of this process.
      if (workspace === null) repeat(deleted).catch(() => undefined)
      return workspace
    })
    // A failure is that of `settled`, too.
    const inTime = async (work: Promise<unknown>, limit: AbortSignal | undefined) =>
      limit === undefined || (await endsInTime(work, limit).catch(() => true))
    const isSettled = (await inTime(ended, late)) && (await inTime(settled, tooLate))
    const workspace = isSettled ? await settled : null
    if (workspace !== null) return workspace
    return { path: directoryOf(deleted), outcome: 'kept', reason: 'failed', detail: 'The server repeats the removal.' }
  }
  /** Null for a record that cannot be read: then the processes of this machine are ended. */
  const recordOf = (text: string): ConversationRecord | null => {
    try {
      return readRecord(text)
    } catch (error) {
      log.warn({ err: error }, 'record of a deleted conversation not readable')
      return null
    }
  }
  return {
    settle,
    async recover() {
      removal.recover()
      const owed = await conversations.owedReleases()
      await Promise.all(owed.map((row) => settle({ ...row, record: recordOf(row.record) })))
    },
    close: () => closing.abort(),
  }
}

/** The working directory on this machine; null on another server, and for a record that cannot be read. */
const directoryOf = ({ record }: Pick<Deleted, 'record'>): string | null =>
  record === null || remoteOf(record.workspace) !== null || record.workspace.working_dir === ''
    ? null
    : record.workspace.working_dir
