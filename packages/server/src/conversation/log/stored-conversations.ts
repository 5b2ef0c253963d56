/** Reads conversations that are not in memory: record, cached state, and the events after it. */
import { ParleyError, replay, type ConversationId, type ConversationState, type StoredEvent } from '@parley/protocol'
import { TimeSlices } from '../../lib/index.ts'
import { isUnreadable, unreadable, type CachedState, type ConversationRow, type Storage } from '../../storage/index.ts'
import type { Reading } from '../record/reading.ts'
import type { ConversationRecord } from '../record/record.ts'
import { unreadableReading } from '../record/unreadable-reading.ts'
import { readCachedLog, writeCachedLog, type CachedLog } from './cached-log.ts'
import type { Loaded } from './live-log.ts'

const PAGE = 500

export type StoredConversationsDeps = {
  storage: Pick<Storage, 'conversations' | 'events'>
  readRecord: (text: string) => ConversationRecord
}

export class StoredConversations {
  readonly #deps: StoredConversationsDeps

  constructor(deps: StoredConversationsDeps) {
    this.#deps = deps
  }

  /**
   * Reads one conversation. One that cannot be read is marked; null for one that is deleted meanwhile. One without a usable cached
   * state gets one, for the next reader.
   */
  async read(row: ConversationRow, stored: CachedState | null): Promise<Reading | null> {
    let record: ConversationRecord | null = null
    try {
      record = this.#record(row)
      const cached = readCachedLog(stored)
      const state = await this.#state(row, cached)
      if (cached === null) await this.#cache(row.id, state)
      return { row, record, state }
    } catch (error) {
      if (error instanceof ParleyError && error.code === 'not_found') return null
      if (!isUnreadable(error)) throw error
      return unreadableReading(row, record, error)
    }
  }

  /**
   * Reads one conversation to be held in memory.
   * @throws ParleyError `conflict` when it cannot be read; `not_found` when it is deleted meanwhile
   */
  async load({ row, state: stored }: { row: ConversationRow; state: CachedState | null }): Promise<Loaded> {
    const { id, epoch, owner, created_at } = row
    const record = this.#record(row)
    const cached = readCachedLog(stored)
    const state = await this.#state(row, cached)
    const view = cached?.view ?? null
    return { id, epoch, owner, created_at, record, state, view, cachedSeq: cached?.state.seq ?? 0 }
  }

  #record({ id, record }: ConversationRow): ConversationRecord {
    try {
      return this.#deps.readRecord(record)
    } catch (error) {
      throw unreadable(id, 'its record', error)
    }
  }

  async #state(row: ConversationRow, cached: CachedLog | null): Promise<ConversationState> {
    const after = cached?.state.seq ?? 0
    const events = await this.#eventsAfter(row, after)
    try {
      return replay(events, cached?.state)
    } catch (error) {
      throw unreadable(row.id, `an event after ${after} of its log`, error)
    }
  }

  async #eventsAfter({ id, seq }: ConversationRow, after: number): Promise<StoredEvent[]> {
    const events: StoredEvent[] = []
    const slices = new TimeSlices()
    for (let from = after + 1; from <= seq; from = events.at(-1)!.seq + 1) {
      await slices.next()
      const page = await this.#deps.storage.events.page(id, { from, limit: PAGE })
      if (page.length === 0) break
      events.push(...page)
    }
    if (events.length < seq - after) throw await this.#incomplete(id, after)
    return events
  }

  /** The reason why events are missing. */
  async #incomplete(id: ConversationId, after: number): Promise<ParleyError> {
    if ((await this.#deps.storage.conversations.get(id)) !== null)
      return unreadable(id, `an event after ${after} of its log`, new Error('events are missing'))
    return new ParleyError('not_found', `Conversation not found: ${id}`, { details: { conversation_id: id } })
  }

  /** A failure costs only time at the next read. */
  async #cache(id: ConversationId, state: ConversationState): Promise<void> {
    const text = writeCachedLog({ state, view: null })
    await this.#deps.storage.conversations.cacheState(id, text).catch(() => undefined)
  }
}
