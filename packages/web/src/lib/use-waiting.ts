import { useApprovals } from '../api/queries.ts'

/** How many batches wait for this person. */
export const useWaiting = (): number => useApprovals().data?.approvals.length ?? 0
