/**
 * Audit entries with a write buffer. Requests do not wait for the store or a sink; an orderly stop writes the rest, and a kill loses at
 * most the last quarter of a second. Source: decisions.md, Identity; docs/audit.md, Limits.
 *
 * Invariants
 *   A1. Entries of one user never cause the removal of another user's.
 *   A2. Nothing here delays or fails a request.
 */
import { laxConversationId } from '@parley/protocol'
import type { AuditSink, Log } from '../../observability/index.ts'
import type { AuditEntry, AuditRow, AuditStore } from '../contract/access.ts'
import { Folding, type OpenEntry } from './folding.ts'

/** A request that was answered. */
export type AuditedRequest = {
  /** Method and pattern of the route. */
  action: string
  actor: { user: string; keyId: string }
  /** Status of the answer. */
  status: number
  /** Text from the path; anything but a conversation id is stored as null. */
  conversationId?: string | undefined
  subject?: string | undefined
  detail?: string | undefined
}

/** Milliseconds for which entries are collected into one write. */
const WAIT_MS = 250
/** Milliseconds between two reports of one repeated request to the sinks. */
const REPEATS_MS = 60_000
/** Entries kept while the store refuses them; beyond that, the oldest are dropped. */
const MAX_WAITING = 10_000
/** Entries of one user. */
const MAX_ROWS = 50_000
const MAX_AGE_MS = 90 * 24 * 3600 * 1000
/** Entries written between two removals of old rows. */
const PRUNE_EVERY = 1000
/** The user of requests with an unknown key. */
const NO_USER = { user: '', keyId: '' }

export type AuditLogOptions = {
  sinks?: readonly AuditSink[]
  /** Default: 50,000. */
  maxRows?: number
  now?: () => Date
}

export class AuditLog {
  readonly #store: AuditStore
  readonly #log: Log
  readonly #sinks: readonly AuditSink[]
  readonly #maxRows: number
  readonly #now: () => Date
  readonly #folding = new Folding()
  #waiting: OpenEntry[] = []
  /** Stored entries that have counted further requests. */
  readonly #repeated = new Set<OpenEntry>()
  /** Requests of an entry that the sinks know, and when they were told; for entries that have counted more. */
  readonly #owed = new Map<OpenEntry, { told: number; at: number }>()
  readonly #told = new WeakMap<OpenEntry, { told: number; at: number }>()
  #timer: NodeJS.Timeout | undefined
  #repeatTimer: NodeJS.Timeout | undefined
  #writing: Promise<void> = Promise.resolve()
  #sincePrune = PRUNE_EVERY
  #usersToPrune: Set<string> | null = null
  #isClosed = false

  constructor(
    store: AuditStore,
    log: Log,
    { sinks = [], maxRows = MAX_ROWS, now = () => new Date() }: AuditLogOptions = {},
  ) {
    this.#store = store
    this.#log = log
    this.#sinks = sinks
    this.#maxRows = maxRows
    this.#now = now
  }

  /** Queues an entry; never throws. */
  note({ action, actor, status, conversationId, subject, detail }: AuditedRequest): void {
    const id = laxConversationId().safeParse(conversationId)
    const now = this.#now()
    const { entry, isNew } = this.#folding.take(
      {
        at: now.toISOString(),
        until: null,
        count: 1,
        user: actor.user,
        key_id: actor.keyId,
        action,
        conversation_id: id.success ? id.data : null,
        status,
        subject: subject ?? null,
        detail: detail ?? null,
      },
      now.getTime(),
    )
    if (isNew) this.#waiting.push(entry)
    else if (entry.id !== null) this.#repeated.add(entry)
    this.#tellSinks(entry, isNew, now.getTime())
    if (this.#isClosed) void this.flush()
    else this.#timer ??= setTimeout(() => void this.flush(), WAIT_MS)
  }

  /** Queues a failed login. @param address from which the unknown key came; undefined: not known */
  noteWrongKey(address: string | undefined): void {
    this.note({ action: 'LOGIN', actor: NO_USER, status: 401, detail: address ?? 'unknown address' })
  }

  /** Writes the queued entries. Never rejects: entries that could not be written stay queued. */
  flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    return (this.#writing = this.#writing.then(() => this.#write()))
  }

  /** A page of entries, newest first, including those that were queued before the call. */
  async list(query: Parameters<AuditStore['list']>[0]): Promise<{ items: AuditRow[]; next: number | null }> {
    await this.flush()
    return this.#store.list(query)
  }

  /** Writes the queued entries, also to the sinks; later entries are written at once. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#repeatTimer)
    this.#tellRepeats(0)
    await this.flush()
    // Requests that were counted during the write.
    await this.flush()
    await Promise.all(this.#sinks.map((sink) => sink.close()))
  }

  async #write(): Promise<void> {
    const entries = this.#waiting
    const repeated = [...this.#repeated]
    if (entries.length === 0 && repeated.length === 0) return
    this.#waiting = []
    this.#repeated.clear()
    // The count of an entry may grow during the write.
    const counts = entries.map(({ count }) => count)
    try {
      const ids = await this.#store.write(
        entries,
        repeated.map(({ id, until, count, conversation_id }) => ({ id: id!, until, count, conversation_id })),
      )
      for (const [index, entry] of entries.entries()) {
        entry.id = ids[index] ?? null
        if (entry.count !== counts[index]) this.#repeated.add(entry)
        this.#usersToPrune?.add(entry.user)
      }
      this.#sincePrune += entries.length
      if (this.#repeated.size > 0 && !this.#isClosed) this.#timer ??= setTimeout(() => void this.flush(), WAIT_MS)
      if (this.#sincePrune < PRUNE_EVERY) return
      this.#sincePrune = 0
      await this.#prune()
    } catch (error) {
      this.#log.error({ err: error, entries: entries.length }, 'audit entries not written')
      const kept = [...entries, ...this.#waiting]
      this.#waiting = kept.slice(-MAX_WAITING)
      for (const entry of repeated) this.#repeated.add(entry)
      if (!this.#isClosed) this.#timer ??= setTimeout(() => void this.flush(), WAIT_MS)
    }
  }

  async #prune(): Promise<void> {
    const before = new Date(this.#now().getTime() - MAX_AGE_MS).toISOString()
    try {
      // The first removal after a start looks at every user, later ones at those with new entries.
      const users = this.#usersToPrune ?? new Set(await this.#store.users())
      this.#usersToPrune = new Set()
      for (const user of users) {
        while ((await this.#store.prune({ before, user, atMost: this.#maxRows })) > 0) {
          // Each slice is a transaction of its own, so that other writes are not held up.
        }
      }
    } catch (error) {
      this.#log.warn({ err: error }, 'old audit entries not removed')
    }
  }

  /** New entries are sent at once; further requests of an entry at most once a minute. */
  #tellSinks(entry: OpenEntry, isNew: boolean, now: number): void {
    if (this.#sinks.length === 0) return
    if (isNew) {
      this.#told.set(entry, { told: entry.count, at: now })
      return this.#send(recordOf(entry, entry.count))
    }
    this.#owed.set(entry, this.#told.get(entry) ?? { told: 0, at: now })
    this.#tellRepeatsLater()
  }

  #tellRepeatsLater(): void {
    this.#repeatTimer ??= setTimeout(() => {
      this.#repeatTimer = undefined
      this.#tellRepeats(REPEATS_MS)
      if (this.#owed.size > 0) this.#tellRepeatsLater()
    }, REPEATS_MS).unref()
  }

  #tellRepeats(afterMs: number): void {
    const now = this.#now().getTime()
    for (const [entry, { told, at }] of this.#owed) {
      if (now - at < afterMs) continue
      this.#owed.delete(entry)
      this.#told.set(entry, { told: entry.count, at: now })
      this.#send(recordOf(entry, entry.count - told))
    }
  }

  #send(record: object): void {
    for (const sink of this.#sinks) sink.write(record)
  }
}

/** The record for sinks. `count`: requests since the last record of the same entry. */
function recordOf(entry: OpenEntry, count: number): AuditEntry {
  const { at, until, user, key_id, action, conversation_id, status, subject, detail } = entry
  return { at, until, count, user, key_id, action, conversation_id, status, subject, detail }
}
