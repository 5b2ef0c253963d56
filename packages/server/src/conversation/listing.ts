/** The list that products show: newest first, with filters that no index covers. Source: conversation-service.md 2. */
import type { ConversationId, ConversationInfo, ConversationProgress } from '@parley/protocol'
import type { ListSearch } from './conversations.ts'

/** Conversations examined for one page. A page that finds few is short, and the next page continues behind them. */
const MAX_EXAMINED = 1_000
const BATCH = 100

type Row = { parent_conversation_id: ConversationId | null }
export type Page = { items: ConversationProgress[]; next_page_id: ConversationId | null }

/** The source of a list. */
export type ListSource<R extends Row> = {
  /** Returns the next rows from one id on, and the id of the row behind them. */
  rows: (limit: number, from: ConversationId | undefined) => Promise<{ items: R[]; next: ConversationId | null }>
  /** Returns the progress of rows in their order; null for deleted ones. */
  read: (rows: readonly R[]) => Promise<(ConversationProgress | null)[]>
}

/** Returns a page of `search`. Only the row of a sub-agent's conversation is read before it is left out. */
export async function listed<R extends Row>(search: ListSearch, { rows, read }: ListSource<R>): Promise<Page> {
  const { limit, include_sub_conversations } = search
  const items: ConversationProgress[] = []
  let from = search.page_id
  for (let seen = 0; seen < MAX_EXAMINED && items.length < limit; seen += BATCH) {
    // Without filters the first read is the whole page.
    const { items: found, next } = await rows(seen === 0 ? limit : BATCH, from)
    const wanted = found.filter((row) => include_sub_conversations || row.parent_conversation_id === null)
    for (const [index, item] of (await read(wanted)).entries()) {
      if (item === null || !matches(item, search)) continue
      items.push(item)
      const place = found.indexOf(wanted[index]!) + 1
      // The page is full before the end of the rows that were read: the next page begins right behind this item.
      if (items.length === limit && place < found.length) return { items, next_page_id: (await rows(place, from)).next }
    }
    if (next === null) return { items, next_page_id: null }
    from = next
  }
  return { items, next_page_id: from ?? null }
}

const matches = (item: ConversationProgress, { selected_repository, trigger }: ListSearch): boolean =>
  (selected_repository === undefined || item.selected_repository === selected_repository) &&
  (trigger === undefined || item.trigger === trigger)

/** The progress of a conversation of another server, of which only the record is known. */
export function receivedProgress(
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
