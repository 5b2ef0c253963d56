/** The server's machine as a user reaches it outside of conversations: commands of one user are no other user's business. */
import { createHash } from 'node:crypto'
import { asConversationId } from '@parley/protocol'
import type { Workspace, Workspaces } from './workspace.ts'

export interface Hosts {
  /** What relative paths are relative to, and where a command runs that names no directory. */
  readonly cwd: string
  /** A workspace that belongs to the user and to no conversation. Starts no process. */
  of(user: string): Promise<Workspace>
  /** What these commands of the user printed is stored by now. */
  forget?(user: string, callIds: readonly string[]): void
}

export function openHosts(workspaces: Workspaces, cwd: string): Hosts {
  const known = new Map<string, Promise<Workspace>>()
  const idOf = (user: string) =>
    asConversationId(`host-${createHash('sha256').update(user).digest('hex').slice(0, 24)}`)
  return {
    forget: (user, calls) => workspaces.forget?.(idOf(user), calls),
    cwd,
    of(user) {
      const open = known.get(user)
      if (open !== undefined) return open
      const conversationId = idOf(user)
      // It has no owner that could change, so the epoch never does.
      const opening = workspaces.open({ conversationId, workingDir: cwd, epoch: 1 }, new AbortController().signal)
      known.set(user, opening)
      opening.catch(() => known.delete(user))
      return opening
    },
  }
}
