/** The notification of a batch that waits for a decision. Pure. Source: docs/webhooks.md, Waiting for a decision. */
import type { ActionEvent, ConversationId, ConversationState, EventId } from '@parley/protocol'
import type { OutboxDraft } from '../../storage/index.ts'
import type { ConversationRecord } from './record.ts'

/** Characters of the arguments of a call. */
const MAX_ARGUMENTS = 2_000

/** A commit that leads from one state to another one. */
type Step = {
  id: ConversationId
  before: ConversationState
  after: ConversationState
  record: Pick<ConversationRecord, 'title'>
  /** Finds actions as they are stored, secrets masked. */
  actionsOf: (ids: readonly EventId[]) => readonly ActionEvent[]
}

/** Null for a commit that begins no wait. The batch of a sub-agent is reported for the sub-agent and not for its parents. */
export function waitingNotice({ id, before, after, record, actionsOf }: Step): OutboxDraft | null {
  const batch = after.awaiting_approval
  if (after.execution_status !== 'waiting_for_confirmation' || batch === null || batch.sub_agent !== undefined)
    return null
  const isKnown = before.execution_status === 'waiting_for_confirmation'
  if (isKnown && before.awaiting_approval?.batch_id === batch.batch_id) return null
  const stored = new Map(actionsOf(batch.actions.map(({ action_id }) => action_id)).map((event) => [event.id, event]))
  const open = new Map(after.open_actions.map((action) => [action.id, action]))
  const [first] = batch.actions.flatMap(({ action_id }) => open.get(action_id) ?? [])
  const payload = {
    conversation_id: id,
    title: record.title,
    batch_id: batch.batch_id,
    page: `/c/${id}${first === undefined ? '' : `?at=${first.seq}`}`,
    actions: batch.actions.map(({ action_id, risk }) => {
      const action = stored.get(action_id)
      const text = action?.tool_call?.arguments ?? null
      return {
        action_id,
        risk,
        tool_name: open.get(action_id)?.tool_name ?? action?.tool_name ?? '',
        summary: action?.summary ?? null,
        arguments: text === null ? null : text.slice(0, MAX_ARGUMENTS),
        is_shortened: text !== null && text.length > MAX_ARGUMENTS,
      }
    }),
  }
  return { topic: 'conversation.waiting', payload: JSON.stringify(payload), isOptional: true }
}
