/**
 * Appends. All that wait in one turn of the event loop are one group, and a group is one statement.
 *
 * Invariants
 *   A1. An append resolves only after the COMMIT that contains it.
 *   A2. A refused or failed member changes nothing and fails alone.
 *   A3. Appends to one conversation are written in the order of their calls; a group contains at most one of them.
 *   A4. An append whose answer was lost is repeated, and found where it was written (S6).
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { ParleyError } from '@parley/protocol'
import type { Append } from '../contract/conversations.ts'
import { countOf } from '../shared/notices.ts'
import { APPEND_SQL, type Appended, appendValues, type Member, memberOf } from './append-sql.ts'
import type { Database, Sql } from './database.ts'
import { isDuplicate, isLost, isOfValues, isRepeatable } from './failures.ts'
import { lock } from './locks.ts'
import { putNotes } from './notes.ts'
import type { Outbox } from './outbox.ts'
import { refusals } from './refusals.ts'

/** Appends, and rows of events, of one statement; the others wait for the next one. */
const MAX_MEMBERS = 256
const MAX_ROWS = 2_000
/** Milliseconds before each further attempt after a lost connection. Later the caller decides. */
const RETRY_AFTER_MS: readonly number[] = [50, 250, 1_000]
const MAX_REPETITIONS = 8
const REPEAT_WITHIN_MS = 20

type Waiting = Member & { resolve: (owner: string | null) => void; reject: (error: unknown) => void }

/** Why a member was refused, or the owner of a conversation whose feed shows it. */
type Outcome = ParleyError | string | null

export class Appends {
  readonly #database: Database
  readonly #outbox: Outbox
  #waiting: Waiting[] = []
  #running: Promise<void> | undefined
  #isClosed = false

  constructor(database: Database, outbox: Outbox) {
    this.#database = database
    this.#outbox = outbox
  }

  /**
   * Returns the owner when the feed shows the append.
   * @throws ParleyError as `ConversationStore.append`; `unavailable`
   */
  append(append: Append): Promise<string | null> {
    if (this.#isClosed) return Promise.reject(this.#database.closedError())
    const { promise, resolve, reject } = Promise.withResolvers<string | null>()
    this.#waiting.push({ ...memberOf(append, randomUUID()), resolve, reject })
    this.#running ??= this.#run()
    return promise
  }

  /** Refuses later appends, and resolves when those that wait are committed or refused. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#running
  }

  async #run(): Promise<void> {
    // Appends of this turn join the first group; later groups form while the one before is written.
    await new Promise((resolve) => setImmediate(resolve))
    while (this.#waiting.length > 0) await this.#settle(this.#nextGroup())
    this.#running = undefined
  }

  #nextGroup(): Waiting[] {
    const group: Waiting[] = []
    const later: Waiting[] = []
    const ids = new Set<string>()
    let rows = 0
    for (const member of this.#waiting) {
      const { id } = member.append
      const isFull = group.length >= MAX_MEMBERS || (group.length > 0 && rows + member.rows.length > MAX_ROWS)
      if (isFull || ids.has(id)) later.push(member)
      else {
        group.push(member)
        rows += member.rows.length
      }
      // A later append to the same conversation does not overtake one that waits (A3).
      ids.add(id)
    }
    this.#waiting = later
    return group
  }

  /** Writes a group; when a member makes the statement fail, each member by itself (A2). */
  async #settle(group: readonly Waiting[]): Promise<void> {
    try {
      const outcomes = await this.#written(group)
      for (const [index, { resolve, reject }] of group.entries()) {
        const outcome = outcomes[index] ?? null
        if (outcome instanceof ParleyError) reject(outcome)
        else resolve(outcome)
      }
    } catch (error) {
      if (group.length === 1 || !isOfValues(error)) {
        for (const member of group) member.reject(this.#explained(error, member))
        return
      }
      for (const member of group) await this.#settle([member])
    }
  }

  #explained(error: unknown, { append: { id } }: Member): unknown {
    if (!isDuplicate(error, 'events_id')) return this.#database.explained(error)
    return new ParleyError('conflict', `conversation ${id} already holds an event with one of these ids`, {
      details: { reason: 'duplicate_event', conversation_id: id },
      cause: error,
    })
  }

  /** Writes a group, and repeats it after a lost connection (A4). */
  async #written(group: readonly Member[]): Promise<Outcome[]> {
    for (let [losses, repetitions] = [0, 0]; ;) {
      try {
        return await this.#writeOnce(group)
      } catch (error) {
        const wait = RETRY_AFTER_MS[losses]
        if (isLost(error) && wait !== undefined) {
          losses += 1
          await sleep(wait)
        } else if (isRepeatable(error) && repetitions < MAX_REPETITIONS) {
          repetitions += 1
          await sleep(Math.random() * REPEAT_WITHIN_MS)
        } else throw error
      }
    }
  }

  async #writeOnce(group: readonly Member[]): Promise<Outcome[]> {
    const { targets } = this.#outbox
    const hasMore =
      group.some(({ append }) => append.notes !== undefined && append.notes.length > 0) || targets.length > 0
    const values = appendValues(group, targets.length > 0)
    const appended = await this.#database.once(
      (sql) => (hasMore ? this.#withMore(sql, group, values) : sql.all<Appended>(APPEND_SQL, ...values)),
      { inTransaction: hasMore },
    )
    const owners = new Map(appended.map(({ member, owner }) => [member, owner]))
    const refused = group.filter((_, index) => !owners.has(index))
    if (refused.length === 0) return group.map((_, index) => owners.get(index) ?? null)
    const reasons = await this.#database.once((sql) => refusals(sql, refused), { inTransaction: false })
    // An earlier attempt has stored what has neither a row nor a reason.
    return group.map((member, index) => reasons.get(member) ?? owners.get(index) ?? member.append.masked?.user ?? null)
  }

  /** Writes notes and deliveries in the same transaction. */
  async #withMore(sql: Sql, group: readonly Member[], values: ReturnType<typeof appendValues>): Promise<Appended[]> {
    const notified = group.filter(({ append }) => append.outbox !== undefined && append.outbox.length > 0)
    if (this.#outbox.targets.length > 0)
      await lock(
        sql,
        'lane',
        notified.map(({ append }) => append.id),
      )
    const appended = await sql.all<Appended>(APPEND_SQL, ...values)
    for (const { member, n, notified: newest } of appended) {
      const { append, rows } = group[member]!
      const { outbox: drafts = [] } = append
      if (rows.length > 0) await this.#outbox.follow(sql, n, append.id, append.expectedSeq)
      await this.#outbox.write(sql, append.id, drafts, newest - countOf(drafts))
    }
    // The counter of notes is locked last.
    for (const { member, n } of appended) {
      const { notes = [] } = group[member]!.append
      if (notes.length > 0) await putNotes(sql, n, notes)
    }
    return appended
  }
}
