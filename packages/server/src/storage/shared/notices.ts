/** Notifications of a commit, with their numbers and targets. */
import type { OutboxDraft } from '../contract/conversations.ts'
import type { OutboxTarget } from '../contract/targets.ts'

/** How many numbers notifications take: optional ones take none. */
export const countOf = (drafts: readonly OutboxDraft[]): number => drafts.filter(({ isOptional }) => !isOptional).length

/** @param after number of the notification before these */
export function noticesOf(
  drafts: readonly OutboxDraft[],
  targets: readonly OutboxTarget[],
  after: number,
): { draft: OutboxDraft; sequence: number; targets: string[] }[] {
  let sequence = after
  return drafts.flatMap((draft) => {
    if (!draft.isOptional) sequence += 1
    const names = targets.flatMap(({ name, waiting }) => (draft.isOptional && !waiting ? [] : [name]))
    return names.length === 0 ? [] : [{ draft, sequence, targets: names }]
  })
}
