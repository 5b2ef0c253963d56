import { ParleyError, type ConversationId } from '@parley/protocol'
import type { Owner } from '../../coordination/index.ts'

export type OtherOwner = Extract<Owner, { kind: 'elsewhere' | 'nowhere' }>

/** The refusal of work on a conversation that this node may not own. */
class OwnedElsewhere extends ParleyError {
  readonly owner: OtherOwner

  constructor(id: ConversationId, owner: OtherOwner) {
    const details = {
      conversation_id: id,
      ...(owner.kind === 'elsewhere' ? { node: owner.node } : { place: owner.place }),
    }
    super('unavailable', messageOf(id, owner), { details })
    this.owner = owner
  }
}

/** Refuses work on a conversation that this node does not own. @throws ParleyError `not_found`; `unavailable` with its owner */
export function expectHere(id: ConversationId, owner: Owner): void {
  if (owner.kind === 'unknown')
    throw new ParleyError('not_found', `Conversation not found: ${id}`, { details: { conversation_id: id } })
  if (owner.kind !== 'here') throw new OwnedElsewhere(id, owner)
}

/** The owner of the conversation that an error is about; null for an error with another reason. */
export const ownedElsewhere = (error: unknown): OtherOwner | null =>
  error instanceof OwnedElsewhere ? error.owner : null

/** Ends the watchers of a conversation that this node no longer owns: they connect again, and reach the new owner. */
export const moved = (id: ConversationId): ParleyError =>
  new ParleyError('unavailable', `Conversation ${id} has moved to another server process. Connect again.`, {
    details: { conversation_id: id, reason: 'moved' },
  })

/** True for an error of `moved`. */
export const hasMoved = (error: unknown): boolean => error instanceof ParleyError && error.details['reason'] === 'moved'

/** The address of a node is for other nodes, so no message names it. */
function messageOf(id: ConversationId, owner: OtherOwner): string {
  if (owner.kind === 'elsewhere') return `Conversation ${id} is owned by another node. Try again in a moment.`
  return `The files of conversation ${id} are in a data directory whose server is not running. The conversation continues when that server has started again.`
}
