/** What a deleted conversation leaves behind: its processes and its folder. Owed until it is done, also by a later process. */
import type { ConversationId } from '@parley/protocol'
import { rm } from 'node:fs/promises'
import { backoffMs, sleep, type Backoff } from '../../lib/index.ts'
import type { Log } from '../../observability/index.ts'
import type { Storage } from '../../storage/index.ts'
import type { Workspaces } from '../../workspace/index.ts'
import { remoteOf, type ConversationRecord } from '../record/record.ts'

/** Waits between repetitions of a release that failed. */
const BACKOFF: Backoff = { baseMs: 1_000, maxMs: 60_000 }

export type ReleaseDeps = {
  conversations: Pick<Storage['conversations'], 'owedReleases' | 'released'>
  workspaces: Pick<Workspaces, 'release'>
  folderOf: (id: ConversationId) => string
  readRecord: (text: string) => ConversationRecord
  log: Pick<Log, 'warn'>
  /** Default: 1 s to 1 min. */
  backoff?: Backoff | undefined
}

export type Releases = {
  /**
   * Ends the processes of a deleted conversation and removes its folder. Never rejects: a failure is logged, and repeated in the
   * background and by the next start.
   */
  settle(id: ConversationId, record: ConversationRecord | null): Promise<void>
  /** Settles what earlier processes left. */
  recover(): Promise<void>
  /** Ends the repetitions. */
  close(): void
}

export function openReleases(deps: ReleaseDeps): Releases {
  const { conversations, workspaces, folderOf, readRecord, log, backoff = BACKOFF } = deps
  const closing = new AbortController()
  /** One attempt. False: it has to be repeated. */
  const release = async (id: ConversationId, record: ConversationRecord | null, attempt: number): Promise<boolean> => {
    try {
      await workspaces.release(id, record === null ? null : remoteOf(record.workspace))
      // A process that is ending may still write there.
      await rm(folderOf(id), { recursive: true, force: true, maxRetries: 5 })
      await conversations.released(id)
      return true
    } catch (error) {
      log.warn({ conversation_id: id, attempt, err: error }, 'deleted conversation not released, to be repeated')
      return false
    }
  }
  const repeat = async (id: ConversationId, record: ConversationRecord | null): Promise<void> => {
    for (let attempt = 2, isDone = false; !isDone; attempt += 1) {
      await sleep(
        backoffMs(backoff, attempt - 1, () => 1),
        closing.signal,
      )
      isDone = await release(id, record, attempt)
    }
  }
  const settle: Releases['settle'] = async (id, record) => {
    // Its only failure is the end of this process.
    if (!(await release(id, record, 1))) repeat(id, record).catch(() => undefined)
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
      const owed = await conversations.owedReleases()
      await Promise.all(owed.map(({ id, record }) => settle(id, recordOf(record))))
    },
    close: () => closing.abort(),
  }
}
