/** The events of a log that `events/search`, its count and the plain sockets show. */
import type { ConversationId, StoredEvent } from '@parley/protocol'
import type { EventFilter, EventStore } from '../../storage/index.ts'

/** The phases of a start precede the first message, and existing clients count events and expect messages first. */
const LEFT_OUT = 'StartPhaseEvent'

/** Least number of events that are read at once in place of those that were left out. */
const REFILL = 64

/** True for an event that existing clients get. */
export const isForClients = ({ kind }: { kind: string }): boolean => kind !== LEFT_OUT

type Page = { order: 'asc' | 'desc'; limit: number; filter: EventFilter; from?: number }

/** A page of a log without what is left out. */
export async function clientPage(events: EventStore, id: ConversationId, page: Page): Promise<StoredEvent[]> {
  const { order, limit } = page
  const filter = withoutLeftOut(page.filter)
  const items: StoredEvent[] = []
  for (let from = page.from; items.length < limit;) {
    const wanted = items.length === 0 && from === page.from ? limit : Math.max(limit - items.length, REFILL)
    const found = await events.page(id, { order, limit: wanted, filter, ...(from === undefined ? {} : { from }) })
    items.push(...found.filter(({ event }) => isForClients(event)).slice(0, limit - items.length))
    if (found.length < wanted) break
    from = order === 'asc' ? found.at(-1)!.seq + 1 : found.at(-1)!.seq - 1
    if (from < 1) break
  }
  return items
}

/** The number of events that match a filter, without those that are left out. */
export async function clientCount(events: EventStore, id: ConversationId, filter: EventFilter): Promise<number> {
  const shown = withoutLeftOut(filter)
  const mayMatch =
    shown.kinds === undefined && shown.body === undefined && (shown.source ?? 'environment') === 'environment'
  // Counted first: an event that is stored meanwhile must not make the number too small.
  const leftOut = mayMatch ? await events.count(id, { ...filter, kinds: [LEFT_OUT] }) : 0
  return (await events.count(id, shown)) - leftOut
}

const withoutLeftOut = (filter: EventFilter): EventFilter =>
  filter.kinds === undefined ? filter : { ...filter, kinds: filter.kinds.filter((kind) => isForClients({ kind })) }
