/** The server's machine outside conversations: a separate workspace per user, so that users cannot reach each other's commands. */
import { createHash } from 'node:crypto'
import { asConversationId, type ConversationId } from '@parley/protocol'
import type { Workspace, Workspaces } from './workspace.ts'

export interface Hosts {
  /** Start of relative paths, and default working directory of commands. */
  readonly cwd: string
  /** A workspace that belongs to the user and to no conversation. Starts no process. */
  of(user: string): Promise<Workspace>
  /** Removes the output of these commands from the runner, because it is stored elsewhere. */
  forget?(user: string, callIds: readonly string[]): void
}

/** Id of a user's commands outside conversations. */
export const hostId = (user: string): ConversationId =>
  asConversationId(`host-${createHash('sha256').update(user).digest('hex').slice(0, 24)}`)

export function openHosts(workspaces: Workspaces, cwd: string): Hosts {
  const known = new Map<string, Promise<Workspace>>()
  return {
    forget: (user, calls) => workspaces.forget?.(hostId(user), calls),
    cwd,
    of(user) {
      const open = known.get(user)
      if (open !== undefined) return open
      const conversationId = hostId(user)
      // Its owner never changes, so neither does the epoch.
      const opening = workspaces.open({ conversationId, workingDir: cwd, epoch: 1 }, new AbortController().signal)
      known.set(user, opening)
      opening.catch(() => known.delete(user))
      return opening
    },
  }
}
