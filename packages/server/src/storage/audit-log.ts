/**
 * Audit entries with a write buffer. Requests do not wait for the store; an orderly stop writes the rest, and a kill loses at most the
 * last quarter of a second. Source: decisions.md, Identity.
 */
import { laxConversationId } from '@parley/protocol'
import type { Log } from '../observability/index.ts'
import type { AuditEntry, AuditRow, AuditStore } from './contract/access.ts'

/** A request that was answered. */
export type AuditedRequest = {
  /** Method and pattern of the route. */
  action: string
  actor: { user: string; keyId: string }
  /** Status of the answer. */
  status: number
  /** Text from the path; anything but a conversation id is stored as null. */
  conversationId?: string | undefined
}

/** Milliseconds for which entries are collected into one write. */
const WAIT_MS = 250
/** Entries kept while the store refuses them; beyond that, the oldest are dropped. */
const MAX_WAITING = 10_000
const MAX_ROWS = 100_000
const MAX_AGE_MS = 90 * 24 * 3600 * 1000
/** Entries written between two removals of old rows. */
const PRUNE_EVERY = 1000

export class AuditLog {
  readonly #store: AuditStore
  readonly #log: Log
  #waiting: AuditEntry[] = []
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> = Promise.resolve()
  #sincePrune = PRUNE_EVERY
  #isClosed = false

  constructor(store: AuditStore, log: Log) {
    this.#store = store
    this.#log = log
  }

  /** Queues an entry; never throws. */
  note({ action, actor, status, conversationId }: AuditedRequest): void {
    const id = laxConversationId().safeParse(conversationId)
    const at = new Date().toISOString()
    const { user, keyId: key_id } = actor
    this.#waiting.push({ at, user, key_id, action, status, conversation_id: id.success ? id.data : null })
    if (this.#isClosed) void this.flush()
    else this.#timer ??= setTimeout(() => void this.flush(), WAIT_MS)
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

  /** Writes the queued entries; later entries are written at once. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.flush()
  }

  async #write(): Promise<void> {
    const entries = this.#waiting
    if (entries.length === 0) return
    this.#waiting = []
    try {
      await this.#store.add(entries)
      this.#sincePrune += entries.length
      if (this.#sincePrune < PRUNE_EVERY) return
      this.#sincePrune = 0
      await this.#prune()
    } catch (error) {
      this.#log.error({ err: error, entries: entries.length }, 'audit entries not written')
      const kept = [...entries, ...this.#waiting]
      this.#waiting = kept.slice(-MAX_WAITING)
      if (!this.#isClosed) this.#timer ??= setTimeout(() => void this.flush(), WAIT_MS)
    }
  }

  async #prune(): Promise<void> {
    const before = new Date(Date.now() - MAX_AGE_MS).toISOString()
    try {
      while ((await this.#store.prune({ before, atMost: MAX_ROWS })) > 0) {
        // Each slice is a transaction of its own, so that other writes are not held up.
      }
    } catch (error) {
      this.#log.warn({ err: error }, 'old audit entries not removed')
    }
  }
}
