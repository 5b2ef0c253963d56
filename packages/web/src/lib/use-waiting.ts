import type { WaitingApprovals } from '@parley/protocol'
import { useApprovals } from '../api/queries.ts'
import { commandOf } from './action-text.ts'

/** How many batches wait for this person. */
export const useWaiting = (): number => useApprovals().data?.approvals.length ?? 0

const NOTHING: ReadonlyMap<string, string> = new Map()
const asked = new WeakMap<WaitingApprovals, ReadonlyMap<string, string>>()

/** Ids of the conversations that wait, also through a sub-agent, with what is asked first. The same map while the list is the same. */
export function useAskedIn(): ReadonlyMap<string, string> {
  const { data } = useApprovals()
  if (data === undefined) return NOTHING
  const known = asked.get(data)
  if (known !== undefined) return known
  // The oldest batch of a conversation comes first, and is kept.
  const pairs = data.approvals.toReversed().map(({ root_conversation_id, actions }): [string, string] => {
    const [first] = actions
    const text = first === undefined ? '' : (first.summary ?? commandOf(first) ?? first.tool_name)
    return [root_conversation_id, text.split('\n')[0] ?? '']
  })
  const map = new Map(pairs)
  asked.set(data, map)
  return map
}
