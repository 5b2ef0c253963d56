/**
 * Disabling, enabling and deleting users. Source: docs/keys.md, Disabling and deleting users.
 *
 * Invariants
 *   U1. The state is stored before work ends. From then on the keys are refused and nothing of the user starts.
 *   U2. A deletion that began is completed, also by a later process. Each step can be repeated.
 *   U3. A change by another process, such as the command line, has the same effect within two seconds; that of another node at once.
 *   U4. Of several nodes, each ends and deletes the work that it owns. The last one that finds nothing left removes the user.
 */
import { ParleyError } from '@parley/protocol'
import type { Coordination } from '../coordination/index.ts'
import type { Log } from '../observability/index.ts'
import type { UserRow, UserState, UserStore } from '../storage/index.ts'
import { DEFAULT_USER } from './identity.ts'

/** Milliseconds between two checks for changes by other processes. */
const CHECK_MS = 2_000

/** The users who are disabled or being deleted, in memory. */
export class SuspendedUsers {
  #users: ReadonlySet<string> = new Set()

  /** True for a user of whom nothing may run. */
  has(user: string): boolean {
    return this.#users.has(user)
  }

  /** Returns whether one of the users before is suspended no more. */
  replace(rows: readonly Pick<UserRow, 'user'>[]): boolean {
    const before = this.#users
    this.#users = new Set(rows.map(({ user }) => user))
    return [...before].some((user) => !this.#users.has(user))
  }
}

export type UserLifecycleDeps = {
  store: Pick<UserStore, 'list' | 'suspended' | 'setState'>
  suspended: SuspendedUsers
  /** Ends everything that runs for the user. May be repeated. */
  endWork: (user: string) => Promise<void>
  /** Deletes all data of a user of whom nothing runs, and at last the user. May be repeated. */
  erase: (user: string, signal: AbortSignal) => Promise<void>
  coordination: Pick<Coordination, 'tell' | 'on'>
  /** Called when a user is enabled again, or is deleted completely. */
  resumed: () => void
  log: Pick<Log, 'info' | 'warn'>
}

export interface UserLifecycle extends AsyncDisposable {
  list(): Promise<UserRow[]>
  /** Resolves when the keys of the user are refused. @throws ParleyError `not_found`; `conflict` for a user who has to stay. */
  disable(user: string): Promise<void>
  /** @throws ParleyError as `disable`. */
  enable(user: string): Promise<void>
  /** Resolves when the deletion is recorded; it continues in the background. @throws ParleyError as `disable`. */
  delete(user: string): Promise<void>
  /** Resolves when everything that ran for the user has ended. */
  ended(user: string): Promise<void>
  /** Continues what earlier processes have begun, and watches for changes of other processes. */
  recover(): Promise<void>
}

export const openUserLifecycle = (deps: UserLifecycleDeps): UserLifecycle => new Lifecycle(deps)

/** Changes the state of a user. @throws ParleyError as `UserLifecycle.disable`. */
export async function changeState(store: Pick<UserStore, 'setState'>, user: string, to: UserState): Promise<void> {
  if (user === DEFAULT_USER && to !== 'active')
    throw new ParleyError(
      'conflict',
      `User ${user} has the keys of the environment, and is neither disabled nor deleted.`,
    )
  const before = await store.setState(user, to)
  if (before === null) throw new ParleyError('not_found', `There is no user ${user}. List them with: parley users list`)
  if (before === 'deleting' && to !== 'deleting') throw new ParleyError('conflict', `User ${user} is being deleted.`)
}

class Lifecycle implements UserLifecycle {
  readonly #deps: UserLifecycleDeps
  readonly #closing = new AbortController()
  /** The work on each user, one after the other. */
  readonly #working = new Map<string, Promise<void>>()
  /** The states whose work has begun here. */
  #begun: ReadonlyMap<string, UserState> = new Map()
  #timer: NodeJS.Timeout | undefined
  #changes: Disposable | undefined

  constructor(deps: UserLifecycleDeps) {
    this.#deps = deps
  }

  list(): Promise<UserRow[]> {
    return this.#deps.store.list()
  }

  disable(user: string): Promise<void> {
    return this.#change(user, 'disabled')
  }

  enable(user: string): Promise<void> {
    return this.#change(user, 'active')
  }

  delete(user: string): Promise<void> {
    return this.#change(user, 'deleting')
  }

  async ended(user: string): Promise<void> {
    await this.#working.get(user)
  }

  async recover(): Promise<void> {
    this.#changes = this.#deps.coordination.on('users', () => void this.#refresh())
    this.#timer = setInterval(() => void this.#refresh(), CHECK_MS).unref()
    await this.#refresh()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer)
    this.#changes?.[Symbol.dispose]()
    this.#closing.abort(new ParleyError('unavailable', 'The server is shutting down.'))
    await Promise.all(this.#working.values())
  }

  async #change(user: string, to: UserState): Promise<void> {
    await changeState(this.#deps.store, user, to)
    this.#deps.coordination.tell('users', user)
    await this.#refresh()
  }

  /** Reads the states, and begins the work of new ones. Never rejects. */
  async #refresh(): Promise<void> {
    const { store, suspended, log } = this.#deps
    if (this.#closing.signal.aborted) return
    try {
      const rows = await store.suspended()
      if (suspended.replace(rows)) this.#deps.resumed()
      const begun = this.#begun
      this.#begun = new Map(rows.map(({ user, state }) => [user, state]))
      for (const { user, state } of rows) if (begun.get(user) !== state) this.#begin(user, state)
    } catch (err) {
      log.warn({ err }, 'states of users not read')
    }
  }

  #begin(user: string, state: UserState): void {
    const before = this.#working.get(user) ?? Promise.resolve()
    const work = before.then(() => this.#work(user, state))
    this.#working.set(user, work)
    void work.then(() => this.#working.get(user) === work && this.#working.delete(user))
  }

  async #work(user: string, state: UserState): Promise<void> {
    const { endWork, erase, log } = this.#deps
    try {
      await endWork(user)
      if (state === 'deleting') await erase(user, this.#closing.signal)
      log.info({ user, state }, 'state of a user in effect')
    } catch (err) {
      if (this.#closing.signal.aborted) return
      log.warn({ user, state, err }, 'state of a user not in effect yet, to be repeated')
      this.#begun = new Map([...this.#begun].filter(([begun]) => begun !== user))
    }
  }
}
