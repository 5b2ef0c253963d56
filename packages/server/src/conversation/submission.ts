/** Messages after the hooks ran, and the drafts that store them. Pure. Source: agent-core.md 5.4; F14, F65. */
import type { ConversationState, Draft, EventId, HookConfig } from '@parley/protocol'

/** A message after the hooks ran. `blocked`: the reason of the hook that blocked it. */
export type Submission = { message: Draft & { id: EventId }; drafts: readonly Draft[]; blocked: string | null }

/** The result of the hooks at the start of a session. `drafts` precede the first message. */
export type SessionBeginning = { config: HookConfig | null; drafts: readonly Draft[]; detail: string | null }

/** Removes the blocks of actions that get another answer than the hook's; empty when there are none. */
export function withoutBlocks(
  { blocked_actions }: Pick<ConversationState, 'blocked_actions'>,
  ids: readonly EventId[],
): Draft[] {
  if (!ids.some((id) => Object.hasOwn(blocked_actions, id))) return []
  const value = Object.fromEntries(Object.entries(blocked_actions).filter(([id]) => !ids.some((each) => each === id)))
  return [{ kind: 'StateChangedEvent', source: 'environment', key: 'blocked_actions', value }]
}

/** Messages as they are stored. The block precedes its message, so that the reducer never sees the message unblocked. */
export function submitted(
  { blocked_messages }: Pick<ConversationState, 'blocked_messages'>,
  submissions: readonly Submission[],
): Draft[] {
  let value = blocked_messages
  return submissions.flatMap(({ message, drafts, blocked }): Draft[] => {
    if (blocked === null) return [...drafts, message]
    value = { ...value, [message.id]: blocked }
    return [...drafts, { kind: 'StateChangedEvent', source: 'environment', key: 'blocked_messages', value }, message]
  })
}
