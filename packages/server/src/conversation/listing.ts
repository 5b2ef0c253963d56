/** The list that products read: newest first, with filters that no index knows. Source: conversation-service.md 2. */
import type { ConversationId, ConversationInfo, ConversationProgress } from '@parley/protocol'
import type { ListSearch } from './conversations.ts'

/** Conversations looked at for one page. A page that finds few then is short, and the next one goes on behind them. */
const MAX_LOOKED_AT = 1_000
const LOOKED_AT_ONCE = 100

type Row = { parent_conversation_id: ConversationId | null }
export type Page = { items: ConversationProgress[]; next_page_id: ConversationId | null }

/** Where the list is read from. */
export type ListSource<R extends Row> = {
  /** The next so many rows from one on, and the id of the one behind them. */
  rows: (limit: number, from: ConversationId | undefined) => Promise<{ items: R[]; next: ConversationId | null }>
  /** Rows in the product's words, in their order; null for one that is gone. */
  read: (rows: readonly R[]) => Promise<(ConversationProgress | null)[]>
}

/** A page of `search`. Sub-agents' conversations are left out before anything but their row is read. */
export async function listed<R extends Row>(search: ListSearch, { rows, read }: ListSource<R>): Promise<Page> {
  const { limit, include_sub_conversations } = search
  const items: ConversationProgress[] = []
  let from = search.page_id
  for (let seen = 0; seen < MAX_LOOKED_AT && items.length < limit; seen += LOOKED_AT_ONCE) {
    // Without filters the first look is the whole page.
    const { items: found, next } = await rows(seen === 0 ? limit : LOOKED_AT_ONCE, from)
    const wanted = found.filter((row) => include_sub_conversations || row.parent_conversation_id === null)
    for (const [index, item] of (await read(wanted)).entries()) {
      if (item === null || !isMeant(item, search)) continue
      items.push(item)
      const place = found.indexOf(wanted[index]!) + 1
      // The page is full before what was looked at ends: the next one begins right behind this one.
      if (items.length === limit && place < found.length) return { items, next_page_id: (await rows(place, from)).next }
    }
    if (next === null) return { items, next_page_id: null }
    from = next
  }
  return { items, next_page_id: from ?? null }
}

const isMeant = (item: ConversationProgress, { selected_repository, trigger }: ListSearch): boolean =>
  (selected_repository === undefined || item.selected_repository === selected_repository) &&
  (trigger === undefined || item.trigger === trigger)

/** A conversation of another server, of which nothing but its record is known. */
export function toldProgress(
  info: ConversationInfo,
  times: Pick<ConversationProgress, 'created_at' | 'last_updated_at'>,
): ConversationProgress {
  const isGone = info.execution_status === 'deleting'
  return {
    conversation_id: info.id,
    title: info.title ?? `Conversation ${info.id.slice(0, 5)}`,
    status: isGone ? 'STOPPED' : 'RUNNING',
    runtime_status: isGone ? 'STATUS$STOPPED' : 'STATUS$READY',
    execution_status: info.execution_status,
    phase: null,
    code: null,
    reason: null,
    selected_repository: null,
    selected_branch: null,
    git_provider: null,
    trigger: null,
    num_connections: 0,
    url: `/api/conversations/${info.id}`,
    ...times,
    sub_conversation_ids: info.sub_conversation_ids,
  }
}
