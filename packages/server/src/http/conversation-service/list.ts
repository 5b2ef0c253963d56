/** The list of conversations of the conversation service API. Source: conversation-service.md 2. */
import {
  type ConversationProgressPage,
  type getConversations,
  hexId,
  laxConversationId,
  type Received,
} from '@parley/protocol'
import type { Actor, Conversations } from '../../conversation/index.ts'

/** A page of the actor's conversations; an invalid page id starts at the beginning. */
export async function productPage(
  conversations: Conversations,
  query: Received<typeof getConversations>['query'],
  actor: Actor,
): Promise<ConversationProgressPage> {
  const { limit, page_id, selected_repository, conversation_trigger: trigger, include_sub_conversations } = query
  const from = laxConversationId().safeParse(page_id)
  const { items, next_page_id } = await conversations.list(
    {
      limit,
      include_sub_conversations,
      ...(from.success && { page_id: from.data }),
      ...(selected_repository !== undefined && { selected_repository }),
      ...(trigger !== undefined && { trigger }),
    },
    actor,
  )
  return { results: items, next_page_id: next_page_id === null ? null : hexId(next_page_id) }
}
