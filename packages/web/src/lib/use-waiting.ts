import { useApprovals, useConversations } from '../api/queries.ts'
import { shownStatus } from './conversations.ts'

/** How many batches wait for this person; on a server without that list, how many of the loaded conversations wait. */
export function useWaiting(): number {
  const { data: approvals } = useApprovals()
  const { data: conversations } = useConversations()
  if (approvals != null) return approvals.length
  return conversations?.filter((item) => shownStatus(item) === 'waiting').length ?? 0
}
