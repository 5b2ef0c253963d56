/**
 * One transaction, and so one fsync, for all writes of one turn of the event loop.
 *
 * Invariants
 *   G1. Work resolves only after the COMMIT that contains it.
 *   G2. Work that throws leaves no trace and fails alone: the rest of its group is committed.
 *   G3. Groups run one after another, each to its end within one callback, so that no read sees a part of one.
 *   G4. While another process holds the write lock, the group waits without blocking the thread, each member up to a limit.
 *   G5. The commit of a large group does not copy the write-ahead log into the file, which takes as long again; a later turn does.
 *   G6. Work that waits for the next write is committed with it: no later group is committed without it.
 */
import { ParleyError } from '@parley/protocol'
import { explained, isLocked } from './failures.ts'
import type { Sql } from './sql.ts'

/** Milliseconds between two attempts to get the write lock from another process. */
const LOCK_RETRY_MS = 50
/** Pages in the write-ahead log after which a commit copies it into the file. */
export const CHECKPOINT_PAGES = 1000
/** Bytes that make a group a large one. */
const LARGE_BYTES = 1024 * 1024
/** Milliseconds from the commit of a large group to its checkpoint. A timer, because immediate callbacks would all run in one turn. */
const CHECKPOINT_DELAY_MS = 5

type Member = {
  work: () => unknown
  resolve: (value: never) => void
  reject: (error: unknown) => void
  /** Time after which it no longer waits for the write lock. */
  deadline: number
}
type Outcome = { ok: true; value: unknown } | { ok: false; error: unknown }

/** Thrown to leave the fast path: a member failed after writing, so its rows must be rolled back. */
const DIRTY = Symbol('dirty')

export class GroupCommit {
  readonly #sql: Sql
  readonly #path: string
  readonly #lockWaitMs: number
  #waiting: Member[] = []
  #beforeNext: (() => void) | undefined
  #scheduled: NodeJS.Immediate | undefined
  #retry: NodeJS.Timeout | undefined
  #checkpoint: NodeJS.Timeout | undefined
  #closed = false
  readonly #drained = Promise.withResolvers<void>()

  /** @param lockWaitMs longest wait for another process that holds the write lock, in milliseconds */
  constructor(sql: Sql, path: string, lockWaitMs = 0) {
    this.#sql = sql
    this.#path = path
    this.#lockWaitMs = lockWaitMs
  }

  /**
   * Runs `work` inside the next transaction and resolves with its result once that is durable.
   * `work` is synchronous and may run several times, all but the last time without effect.
   * @throws ParleyError `unavailable` when the store is closed or locked, or the disk fails; whatever `work` throws.
   */
  write<T>(work: () => T): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    if (this.#closed) {
      reject(this.closedError())
      return promise
    }
    this.#waiting.push({ work, resolve, reject, deadline: performance.now() + this.#lockWaitMs })
    if (this.#retry === undefined) this.#scheduled ??= setImmediate(() => this.#flush())
    return promise
  }

  /** Runs `work`, in place of earlier work given here, in the next transaction before its members; again in the one after a failed one. */
  beforeNextWrite(work: () => void): void {
    this.#beforeNext = work
  }

  /** Runs `read` outside any transaction. */
  read<T>(read: () => T): Promise<T> {
    if (this.#closed) return Promise.reject(this.closedError())
    try {
      return Promise.resolve(read())
    } catch (error) {
      return Promise.reject(explained(error, this.#path))
    }
  }

  /** Runs reads outside any transaction that give way to other work in between. */
  async readInSlices(read: () => Promise<void>): Promise<void> {
    if (this.#closed) throw this.closedError()
    try {
      await read()
    } catch (error) {
      throw this.#closed ? this.closedError() : explained(error, this.#path)
    }
  }

  /** Refuses later calls, and resolves when the waiting work is committed or refused. */
  async close(): Promise<void> {
    this.#closed = true
    this.#flush()
    await this.#drained.promise
  }

  closedError(): ParleyError {
    return new ParleyError('unavailable', `store ${this.#path} is closed`, { details: { store: this.#path } })
  }

  #flush(): void {
    clearImmediate(this.#scheduled)
    clearTimeout(this.#retry)
    if (this.#closed) clearTimeout(this.#checkpoint)
    this.#scheduled = undefined
    this.#retry = undefined
    const group = this.#waiting
    this.#waiting = []
    if (group.length > 0) this.#settle(group)
    if (this.#closed && this.#waiting.length === 0) this.#drained.resolve()
  }

  #settle(group: readonly Member[]): void {
    let outcomes: Outcome[]
    try {
      outcomes = this.#commit(group)
    } catch (error) {
      const now = performance.now()
      const mayWait = (member: Member): boolean => isLocked(error) && member.deadline > now
      // The order of the writes stays the same: the members that wait precede those that come later.
      this.#waiting = group.filter(mayWait)
      if (this.#waiting.length > 0) this.#retry = setTimeout(() => this.#flush(), LOCK_RETRY_MS)
      const cause = explained(error, this.#path)
      for (const member of group) if (!mayWait(member)) member.reject(cause)
      return
    }
    for (const [index, { resolve, reject }] of group.entries()) {
      const outcome = outcomes[index] as Outcome
      if (outcome.ok) resolve(outcome.value as never)
      else reject(explained(outcome.error, this.#path))
    }
  }

  #commit(group: readonly Member[]): Outcome[] {
    try {
      return this.#transaction(() => group.map((member) => this.#runPlain(member)))
    } catch (error) {
      if (error !== DIRTY) throw error
      return this.#transaction(() => group.map((member) => this.#runGuarded(member)))
    }
  }

  #transaction(body: () => Outcome[]): Outcome[] {
    this.#sql.exec('BEGIN IMMEDIATE')
    const before = this.#sql.written
    try {
      this.#beforeNext?.()
      const outcomes = body()
      if (this.#sql.written - before > LARGE_BYTES) this.#commitAlone()
      else this.#sql.exec('COMMIT')
      this.#beforeNext = undefined
      return outcomes
    } catch (error) {
      // A full disk makes SQLite roll back by itself; a second ROLLBACK would hide the cause.
      if (this.#sql.database.isTransaction) this.#sql.exec('ROLLBACK')
      throw error
    }
  }

  /** Commits without a checkpoint, and makes one in a later turn. */
  #commitAlone(): void {
    this.#sql.exec('PRAGMA wal_autocheckpoint = 0')
    try {
      this.#sql.exec('COMMIT')
    } finally {
      this.#sql.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`)
    }
    this.#checkpoint ??= setTimeout(() => {
      this.#checkpoint = undefined
      try {
        this.#sql.exec('PRAGMA wal_checkpoint(PASSIVE)')
      } catch {
        // The log stays as it is until the next commit.
      }
    }, CHECKPOINT_DELAY_MS)
  }

  /** Without a savepoint, which would make SQLite copy every page that the group touches twice. */
  #runPlain({ work }: Member): Outcome {
    const before = this.#sql.changed
    try {
      return { ok: true, value: work() }
    } catch (error) {
      if (this.#sql.changed !== before || !this.#sql.database.isTransaction) throw DIRTY
      return { ok: false, error }
    }
  }

  #runGuarded({ work }: Member): Outcome {
    this.#sql.exec('SAVEPOINT member')
    try {
      const value = work()
      this.#sql.exec('RELEASE member')
      return { ok: true, value }
    } catch (error) {
      if (!this.#sql.database.isTransaction) throw error
      this.#sql.exec('ROLLBACK TO member')
      this.#sql.exec('RELEASE member')
      return { ok: false, error }
    }
  }
}
