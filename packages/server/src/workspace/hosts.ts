/** The server's machine outside conversations: a separate workspace per user, so that users cannot reach each other's commands. */
import { createHash } from 'node:crypto'
import { asConversationId, type ConversationId } from '@parley/protocol'
import { isInside } from '../lib/index.ts'
import { RefusedPath } from './roots/refused-path.ts'
import type { FileRoots, Roots, RootsOf } from './roots/roots.ts'
import { INSIDE } from './runner/sandbox/mounts.ts'
import type { Workspace, Workspaces } from './workspace.ts'

export interface Hosts {
  /**
   * A workspace that belongs to the user and to no conversation. Its working directory is the start of relative paths, and the default
   * working directory of commands. Starts no process.
   */
  of(user: string): Promise<Workspace>
  /** The directories that the user's requests may reach. */
  roots(user: string): Roots
  /** The files that the user's requests may reach, by the paths that they have for the user's commands. */
  files(user: string): FileRoots
  /** Ends the commands of the user. */
  release(user: string): Promise<void>
  /** Removes the output of these commands from the runner, because it is stored elsewhere. */
  forget?(user: string, callIds: readonly string[]): void
}

/** Id of a user's commands outside conversations. */
export const hostId = (user: string): ConversationId =>
  asConversationId(`host-${createHash('sha256').update(user).digest('hex').slice(0, 24)}`)

/** @param cwd working directory of users who may reach it; others work in their own folder */
export function openHosts(workspaces: Workspaces, roots: RootsOf, cwd: string): Hosts {
  const known = new Map<string, Promise<Workspace>>()
  const open = async (user: string) => {
    const conversationId = hostId(user)
    const workingDir = await workingDirOf(roots(user), cwd)
    // Its owner never changes, so neither does the epoch.
    return workspaces.open({ conversationId, owner: user, workingDir, epoch: 1 }, new AbortController().signal)
  }
  const of = (user: string) => {
    const opened = known.get(user) ?? open(user)
    known.set(user, opened)
    opened.catch(() => known.delete(user))
    return opened
  }
  return {
    of,
    roots,
    files(user) {
      const { account } = roots(user)
      return {
        account,
        async file(path, at) {
          const own = isInside(INSIDE.root, path) ? await (await of(user)).ownFile?.(path) : null
          return own ?? roots(user).file(path, at)
        },
      }
    },
    release: async (user) => {
      known.delete(user)
      await workspaces.release(hostId(user))
    },
    forget: (user, calls) => workspaces.forget?.(hostId(user), calls),
  }
}

async function workingDirOf(roots: Roots, cwd: string): Promise<string> {
  try {
    return await roots.directory(cwd, ['cwd'])
  } catch (error) {
    if (error instanceof RefusedPath) return roots.ownFolder()
    throw error
  }
}
