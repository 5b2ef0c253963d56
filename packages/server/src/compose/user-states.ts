/** Users of a store, for `parley users`; needs no running server. */
import { join } from 'node:path'
import type { Config } from '../config/index.ts'
import { changeState } from '../settings/index.ts'
import { openStore, type UserRow, type UserState } from '../storage/index.ts'
import { auditCommand } from './command-line.ts'

export interface UserStates extends AsyncDisposable {
  /** In the order of their names. */
  list(): Promise<UserRow[]>
  /** A running server follows within two seconds, and another one when it starts. @throws ParleyError `not_found`, `conflict`. */
  change(user: string, to: UserState): Promise<void>
}

const ACTIONS = { active: 'enable', disabled: 'disable', deleting: 'delete' } satisfies Record<UserState, string>

/** Opens the users of the configured store. */
export async function openUserStates({
  dataDir,
  databaseUrl,
}: Pick<Config, 'dataDir' | 'databaseUrl'>): Promise<UserStates> {
  const storage = await openStore({ path: join(dataDir, 'parley.db'), databaseUrl })
  return {
    list: () => storage.users.list(),
    async change(user, to) {
      await changeState(storage.users, user, to)
      await auditCommand(storage.audit, { action: `parley users ${ACTIONS[to]}`, subject: user, detail: null })
    },
    [Symbol.asyncDispose]: () => storage[Symbol.asyncDispose](),
  }
}
