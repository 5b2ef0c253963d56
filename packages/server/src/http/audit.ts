/**
 * Who changed what, written behind the answers: requests do not wait for it, an orderly stop writes what is left, and a kill
 * loses at most the last quarter of a second. Source: design.md 2.10.
 */
import { type AuditItem, laxConversationId, readAudit } from '@parley/protocol'
import type { Actor } from '../conversation/index.ts'
import type { Log } from '../observability/index.ts'
import type { AuditEntry, AuditStore } from '../storage/index.ts'
import { expectAdmin } from './auth.ts'
import { ok, route } from './route.ts'
import type { Route } from './web.ts'

export type Done = { action: string; actor: Actor; status: number; conversationId?: string | undefined }

/** Milliseconds that entries wait for others. */
const WAIT_MS = 250
/** Entries kept while the store refuses them; beyond, the oldest go. */
const MAX_WAITING = 10_000
const MAX_ROWS = 100_000
const MAX_AGE_MS = 90 * 24 * 3600 * 1000
/** Entries between two looks at what is too old. */
const PRUNE_EVERY = 1000

export class Audit {
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

  /** Takes an entry; never throws. */
  note({ action, actor, status, conversationId }: Done): void {
    const id = laxConversationId().safeParse(conversationId)
    const at = new Date().toISOString()
    const { user, keyId: key_id } = actor
    this.#waiting.push({ at, user, key_id, action, status, conversation_id: id.success ? id.data : null })
    if (this.#isClosed) void this.flush()
    else this.#timer ??= setTimeout(() => void this.flush(), WAIT_MS)
  }

  /** Writes what waits. Never rejects: what could not be written stays for the next time. */
  flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    return (this.#writing = this.#writing.then(() => this.#write()))
  }

  /** Writes what waits; what is noted afterwards is written at once. */
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
      this.#log.error({ err: error, entries: entries.length }, 'the audit could not be written')
      const kept = [...entries, ...this.#waiting]
      this.#waiting = kept.slice(-MAX_WAITING)
      if (!this.#isClosed) this.#timer ??= setTimeout(() => void this.flush(), WAIT_MS)
    }
  }

  async #prune(): Promise<void> {
    const before = new Date(Date.now() - MAX_AGE_MS).toISOString()
    try {
      while ((await this.#store.prune({ before, atMost: MAX_ROWS })) > 0) {
        // The next slice waits for its own turn of the event loop.
      }
    } catch (error) {
      this.#log.warn({ err: error }, 'the audit could not be shortened')
    }
  }
}

export function auditRoutes(store: AuditStore, audit: Audit): Route[] {
  return [
    route(readAudit, async ({ query: { user, limit, after } }, actor) => {
      expectAdmin(actor)
      // What this reader has just done is in what they read.
      await audit.flush()
      const query = { limit, ...(user !== undefined && { user }), ...(after !== undefined && { after }) }
      const { items, next } = await store.list(query)
      return ok(readAudit, { items: items satisfies AuditItem[], next_after: next })
    }),
  ]
}
