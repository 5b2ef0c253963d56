/** Composes the work of the modules when a user is disabled or deleted. */
import type { Coordination } from '../coordination/index.ts'
import type { Engine } from '../conversation/index.ts'
import type { Log } from '../observability/index.ts'
import { openUserLifecycle, type SuspendedUsers, type UserLifecycle } from '../settings/index.ts'
import type { Storage } from '../storage/index.ts'
import { ownFolderIn, removeTree, type Bash, type WorkspaceRemoval } from '../workspace/index.ts'

export type ComposeUsersDeps = {
  storage: Pick<Storage, 'users' | 'outbox'>
  suspended: SuspendedUsers
  engine: Pick<Engine, 'endWork' | 'deleteAll'>
  bash: Pick<Bash, 'end'>
  removal: Pick<WorkspaceRemoval, 'removeAll'>
  dataDir: string
  coordination: Coordination
  log: Pick<Log, 'info' | 'warn'>
}

export function composeUsers({
  storage,
  suspended,
  engine,
  bash,
  removal,
  dataDir,
  coordination,
  log,
}: ComposeUsersDeps): UserLifecycle {
  return openUserLifecycle({
    store: storage.users,
    suspended,
    endWork: async (user) => {
      await Promise.all([engine.endWork(user), bash.end(user)])
    },
    erase: async (user, signal) => {
      // Before the conversations: the notifications of their deletion are sent.
      await storage.outbox.dropUser(user)
      await engine.deleteAll(user, signal)
      await removal.removeAll(user, await storage.users.deletedIds(user))
      await removeTree(ownFolderIn(dataDir, user))
      // Last: as long as the user is stored, a later process repeats all of this.
      await storage.users.erase(user)
    },
    coordination,
    resumed: () => storage.outbox.resume(),
    log,
  })
}
