import type { ConversationId, EventId, StoredEvent } from '@parley/protocol'
import type { EventStore } from '../../storage/index.ts'
import type { EventSearch } from '../conversations.ts'
import { clientPage } from './client-events.ts'

export type EventPage = { items: StoredEvent[]; next_page_id: EventId | null }

/** Returns one page of a log; empty for an unknown `page_id`. */
export async function eventPage(events: EventStore, id: ConversationId, search: EventSearch): Promise<EventPage> {
  if (search.range !== undefined)
    return { items: await eventRange(events, id, search.range, search), next_page_id: null }
  let from = search.seq === undefined ? undefined : search.order === 'asc' ? search.seq + 1 : search.seq - 1
  if (search.page_id !== undefined) {
    const first = await events.get(id, search.page_id)
    if (first === null) return { items: [], next_page_id: null }
    from = first.seq
  }
  if (from !== undefined && from < 1) return { items: [], next_page_id: null }
  const { order, filter, limit } = search
  const page = { order, limit: limit + 1, filter, ...(from === undefined ? {} : { from }) }
  const items = search.isForClients === true ? await clientPage(events, id, page) : await events.page(id, page)
  const beyond = items.length > limit ? items.pop() : undefined
  return { items, next_page_id: beyond?.event.id ?? null }
}

const eventRange = (
  events: EventStore,
  id: ConversationId,
  { first, last }: { first: number; last: number },
  { filter }: EventSearch,
): Promise<StoredEvent[]> => events.page(id, { from: first, until: last, limit: last - first + 1, filter })
