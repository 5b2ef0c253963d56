/** Ends and deletes the work of one user, who is disabled or being deleted. Source: docs/keys.md, Disabling and deleting users. */
import { ParleyError, type ConversationId } from '@parley/protocol'
import { sleep } from '../../lib/index.ts'
import type { Log } from '../../observability/index.ts'
import type { ConversationRow, Storage } from '../../storage/index.ts'
import type { Workspaces } from '../../workspace/index.ts'
import type { Actor } from '../conversations.ts'
import { ownedElsewhere } from '../live/owned-elsewhere.ts'
import type { Roster } from '../live/roster.ts'
import type { Commands } from './commands.ts'

/** Conversations that end at the same time. */
const AT_ONCE = 8
/** Milliseconds between two checks of releases that are repeated in the background. */
const RELEASE_CHECK_MS = 500

export type UserWork = {
  /** Stops all conversations of a user that do something, and ends all their processes on this machine. */
  endWork(user: string): Promise<void>
  /**
   * Deletes all conversations of a user with the workspaces that the server has created, those of other nodes excepted, which do it
   * themselves. Resolves when none is left and all are released.
   */
  deleteAll(user: string, signal: AbortSignal): Promise<void>
}

export type UserWorkDeps = {
  conversations: Pick<Storage['conversations'], 'search' | 'owesReleases'>
  commands: Pick<Commands, 'send' | 'delete'>
  roster: Pick<Roster, 'inMemory' | 'evict'>
  workspaces: Pick<Workspaces, 'release'>
  log: Pick<Log, 'warn'>
}

export function openUserWork({ conversations, commands, roster, workspaces, log }: UserWorkDeps): UserWork {
  const end = async ({ id, status }: ConversationRow, actor: Actor): Promise<void> => {
    const live = await roster.inMemory(id)
    try {
      if (status === 'running' || live?.isIdle === false) await commands.send(id, { kind: 'stop' }, actor)
      else if (live !== undefined) await roster.evict(id, 'interrupted')
    } catch (err) {
      // Its node ends it.
      if (ownedElsewhere(err) !== null) return
      log.warn({ conversation_id: id, err }, 'conversation of a disabled user not stopped')
    }
    await workspaces.release(id)
  }

  /** Deletes the conversations of a user that this node may own. False when there are others. */
  const deleteOwn = async (user: string, signal: AbortSignal): Promise<boolean> => {
    let isAll = true
    for (let from: ConversationId | undefined, isLast = false; !isLast;) {
      const page = { owner: user, sort: 'CREATED_AT', limit: AT_ONCE, ...(from && { from }) } as const
      const { items, next } = await conversations.search(page)
      for (const { id } of items) {
        signal.throwIfAborted()
        const isDeleted = await commands.delete(id, actorOf(user), 'delete').then(
          () => true,
          (error: unknown) => {
            // Another node was faster.
            if (error instanceof ParleyError && error.code === 'not_found') return true
            if (ownedElsewhere(error) === null) throw error
            return false
          },
        )
        isAll &&= isDeleted
      }
      isLast = next === null
      from = next ?? undefined
    }
    return isAll
  }

  return {
    async endWork(user) {
      const actor = actorOf(user)
      for (let from: ConversationId | undefined, isLast = false; !isLast;) {
        const page = { owner: user, sort: 'CREATED_AT', limit: AT_ONCE, ...(from && { from }) } as const
        const { items, next } = await conversations.search(page)
        await Promise.all(items.map((row) => end(row, actor)))
        isLast = next === null
        from = next ?? undefined
      }
    },

    async deleteAll(user, signal) {
      while ((await conversations.search({ owner: user, sort: 'CREATED_AT', limit: 1 })).items.length > 0)
        if (!(await deleteOwn(user, signal))) await sleep(RELEASE_CHECK_MS, signal)
      while (await conversations.owesReleases(user)) await sleep(RELEASE_CHECK_MS, signal)
    },
  }
}

const actorOf = (user: string): Actor => ({ user, role: 'admin', keyId: 'server' })
