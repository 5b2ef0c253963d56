/**
 * The lease of a node: an advisory lock of a session that the server ends after a time without a statement (`idle_session_timeout`). The server
 * notices the end of a process at once, and a frozen or disconnected one after that time.
 *
 * Invariants
 *   L1. Nothing runs on the connection but confirmations, which are short, and attempts to take locks, which do not wait: a busy session is
 *       not idle, so the server would not end it.
 *   L2. A confirmation counts from the moment before its question was sent, so the node gives the lease up before the server does.
 *   L3. After its session was lost, a node takes its own number again.
 */
import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { ParleyError } from '@parley/protocol'
import type { NodeNumber } from '../contract/nodes.ts'
import type { Lease } from '../contract/shared.ts'
import { explained, isLost } from './failures.ts'
import { ALL_NODES, LEASE_CLASS } from './liveness.ts'
import { Session } from './session.ts'

export type LeaseOptions = {
  url: string
  /** Host, port and name of the database, for messages. */
  name: string
  node: NodeNumber
  /** Milliseconds. */
  leaseMs: number
}

/** The first key of locks that are taken by their names: "PRLN". */
const NAMED_CLASS = 0x50524c4e
/** Milliseconds before each further attempt to connect. */
const RECONNECT_AFTER_MS: readonly number[] = [20, 100, 300, 1_000]
/** Milliseconds before each further attempt to connect for the first time; then the start fails. */
const START_AGAIN_MS: readonly number[] = [100, 500, 1_000]
/** Milliseconds between attempts to take the own number, which an earlier session of this node may still hold. */
const TAKE_AGAIN_MS = 50

const SETTINGS_SQL = `SELECT set_config('idle_session_timeout', $1, false), set_config('statement_timeout', $1, false)`
const SHARE_SQL = `SELECT pg_try_advisory_lock_shared(${LEASE_CLASS}, ${ALL_NODES}) AS taken`
const TAKE_SQL = `SELECT pg_try_advisory_lock(${LEASE_CLASS}, $1) AS taken`
/** The other session that holds this number can only be an earlier one of this process. */
const END_EARLIER_SQL = `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND classid = ${LEASE_CLASS} AND objid = $1::oid
  AND objsubid = 2 AND granted AND pid <> pg_backend_pid()
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
const LOCK_SQL = `SELECT pg_try_advisory_lock(${NAMED_CLASS}, $1) AS taken`
const UNLOCK_SQL = `SELECT pg_advisory_unlock(${NAMED_CLASS}, $1)`

type Held = {
  session: Session
  /** `performance.now()` and `Date.now()` before the newest question that was answered. */
  confirmed: Moment
  /** `performance.now()` */
  since: number
  locks: Set<number>
}
type Moment = { monotonic: number; wall: number }

const now = (): Moment => ({ monotonic: performance.now(), wall: Date.now() })
const keyOf = (name: string): number => createHash('sha256').update(name).digest().readInt32BE()

const inUse = (name: string): ParleyError =>
  new ParleyError(
    'conflict',
    `database ${name} is in use by a command that moves its store: start again when it has ended`,
    {
      details: { store: name },
    },
  )

/** Resolves when the lease is held. @throws ParleyError `unavailable`; `conflict` while the store is moved */
export async function openLease(options: LeaseOptions): Promise<Lease> {
  const lease = new PostgresLease(options)
  try {
    await lease.start()
  } catch (error) {
    throw explained(error, options.name)
  }
  return lease
}

class PostgresLease implements Lease {
  readonly #options: LeaseOptions
  readonly #listeners = new Set<(isHeld: boolean) => void>()
  readonly #ending = new AbortController()
  #held: Held | null = null
  #sessions = 0
  #asking: Promise<boolean> | null = null
  #keeping: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(options: LeaseOptions) {
    this.#options = options
  }

  async start(): Promise<void> {
    this.#begin(await this.#connectAtStart())
    this.#timer = setInterval(() => void this.ping(), this.#options.leaseMs / 4)
    this.#timer.unref()
  }

  get session(): number {
    return this.#sessions
  }

  get isConfirmed(): boolean {
    if (this.#held === null) return false
    const { leaseMs } = this.#options
    const { confirmed } = this.#held
    const at = now()
    const passed = at.monotonic - confirmed.monotonic
    // After a jump of a clock, such as that of a machine that was suspended, the time that has passed is not known.
    const jumped = Math.abs(at.wall - confirmed.wall - passed)
    return passed < (leaseMs * 2) / 3 && jumped < leaseMs / 6
  }

  get mayTakeOver(): boolean {
    // The session is never older than the server, so this covers the start of the server and a promotion too.
    return this.isConfirmed && performance.now() - this.#held!.since >= this.#options.leaseMs
  }

  ping(): Promise<boolean> {
    return (this.#asking ??= this.#ask().finally(() => {
      this.#asking = null
    }))
  }

  async tryLock(name: string): Promise<boolean> {
    const held = this.#held
    if (held === null) return false
    const key = keyOf(name)
    if (held.locks.has(key)) return true
    const answer = await this.#answerOf<{ taken: boolean }>(held, LOCK_SQL, key)
    if (answer?.[0]?.taken !== true || this.#held !== held) return false
    // A session that takes a lock twice has to give it back twice.
    if (held.locks.has(key)) await this.#answerOf(held, UNLOCK_SQL, key)
    held.locks.add(key)
    return true
  }

  async unlock(name: string): Promise<void> {
    const held = this.#held
    if (held?.locks.delete(keyOf(name)) === true) await this.#answerOf(held, UNLOCK_SQL, keyOf(name))
  }

  onSession(listener: (isHeld: boolean) => void): Disposable {
    this.#listeners.add(listener)
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer)
    this.#ending.abort()
    const held = this.#held
    this.#held = null
    await held?.session.end()
    await this.#keeping
  }

  async #ask(): Promise<boolean> {
    const held = this.#held
    if (held === null) return false
    const asked = now()
    if ((await this.#answerOf(held, 'SELECT 1')) === null || this.#held !== held) return false
    held.confirmed = asked
    return true
  }

  /** Null when the session is lost. */
  async #answerOf<Row>(held: Held, text: string, ...values: number[]): Promise<Row[] | null> {
    try {
      return await held.session.query<Row>(text, ...values)
    } catch {
      held.session.destroy()
      this.#lose(held)
      return null
    }
  }

  /** The deadline of a session is short, and a server that is busy for once does not keep a node from starting. */
  async #connectAtStart(): Promise<Held> {
    for (const wait of START_AGAIN_MS) {
      try {
        return await this.#connect()
      } catch (error) {
        if (!isLost(error)) throw error
        await sleep(wait)
      }
    }
    return this.#connect()
  }

  /** Opens a session and takes the number of the node. */
  async #connect(): Promise<Held> {
    const { url, name, node, leaseMs } = this.#options
    const session = await Session.open({ url, name: `parley node ${node}`, deadlineMs: leaseMs / 2 })
    try {
      await session.query(SETTINGS_SQL, String(leaseMs))
      const [shared] = await session.query<{ taken: boolean }>(SHARE_SQL)
      if (shared?.taken !== true) throw inUse(name)
      for (;;) {
        const confirmed = now()
        const [answer] = await session.query<{ taken: boolean }>(TAKE_SQL, node)
        if (answer?.taken === true) return { session, confirmed, since: performance.now(), locks: new Set() }
        await session.query(END_EARLIER_SQL, node)
        await sleep(TAKE_AGAIN_MS, undefined, { signal: this.#ending.signal })
      }
    } catch (error) {
      session.destroy()
      throw error
    }
  }

  #begin(held: Held): void {
    this.#held = held
    this.#sessions += 1
    void held.session.ended.then(() => this.#lose(held))
    this.#tell(true)
  }

  #lose(held: Held): void {
    if (this.#held !== held) return
    this.#held = null
    this.#tell(false)
    if (!this.#ending.signal.aborted) this.#keeping = this.#again()
  }

  /** Connects until it succeeds (L3). Appends report that the database cannot be reached. */
  async #again(): Promise<void> {
    const { signal } = this.#ending
    for (let attempt = 0; !signal.aborted; attempt += 1) {
      const wait = RECONNECT_AFTER_MS[Math.min(attempt, RECONNECT_AFTER_MS.length - 1)]!
      await sleep(wait, undefined, { signal, ref: false }).catch(() => undefined)
      if (signal.aborted) return
      const held = await this.#connect().catch(() => null)
      if (held === null) continue
      if (!signal.aborted) return this.#begin(held)
      await held.session.end()
    }
  }

  #tell(isHeld: boolean): void {
    for (const listener of this.#listeners) listener(isHeld)
  }
}
