/** What a deleted conversation leaves behind: its processes and its folder. Owed until it is done, also by a later process. */
import type { ConversationId } from '@parley/protocol'
import { rm } from 'node:fs/promises'
import type { Log } from '../../observability/index.ts'
import type { Storage } from '../../storage/index.ts'
import type { Workspaces } from '../../workspace/index.ts'
import { remoteOf, type ConversationRecord } from '../record/record.ts'

export type ReleaseDeps = {
  conversations: Pick<Storage['conversations'], 'owedReleases' | 'released'>
  workspaces: Pick<Workspaces, 'release'>
  folderOf: (id: ConversationId) => string
  readRecord: (text: string) => ConversationRecord
  log: Pick<Log, 'warn'>
}

export type Releases = {
  /** Ends the processes of a deleted conversation and removes its folder. A failure is logged; the next start repeats it. */
  settle(id: ConversationId, record: ConversationRecord | null): Promise<void>
  /** Settles what earlier processes left. */
  recover(): Promise<void>
}

export function openReleases({ conversations, workspaces, folderOf, readRecord, log }: ReleaseDeps): Releases {
  const settle: Releases['settle'] = async (id, record) => {
    try {
      await workspaces.release(id, record === null ? null : remoteOf(record.workspace))
      // A process that is ending may still write there.
      await rm(folderOf(id), { recursive: true, force: true, maxRetries: 5 })
      await conversations.released(id)
    } catch (error) {
      log.warn({ conversation_id: id, err: error }, 'deleted conversation not released; the next start repeats it')
    }
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
  }
}
