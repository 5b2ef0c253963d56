import { type ConversationId, ParleyError } from '@parley/protocol'
import type { ConversationRow, NewConversation } from '../contract/conversations.ts'
import type { PlaceId } from '../contract/nodes.ts'

/** The parent of a new sub-agent. `root`: its own id, unless it is a sub-agent itself. */
export type Parent = { root: ConversationId } & Pick<ConversationRow, 'node' | 'place'>

/**
 * The stored root of a new conversation, null for one that is a root itself, and its place.
 * @param parent of a sub-agent; undefined also for one whose parent was deleted
 * @throws ParleyError `conflict` when the parent has another node, because a root has one owner
 */
export function treeOf(
  { id, node, place = null }: NewConversation,
  parent: Parent | undefined,
): { root: ConversationId | null; place: PlaceId | null } {
  if (parent === undefined) return { root: null, place }
  if (parent.node === node) return { root: parent.root, place: parent.place }
  throw new ParleyError('conflict', `the parent of conversation ${id} has another owner`, {
    details: { reason: 'epoch', conversation_id: id },
  })
}
