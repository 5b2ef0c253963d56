/** What an approval by one command is made of. */
import type { AwaitedApproval, EventId } from '@parley/protocol'
import type { EventStore } from '../../storage/index.ts'
import type { Approvals } from '../approvals.ts'
import type { Actor } from '../conversations.ts'
import type { LiveReader } from '../live-access.ts'
import { callDigest } from '../record/call-digest.ts'
import type { ShownBatches } from '../watch/shown-batches.ts'

export type ApprovalDeps = {
  events: Pick<EventStore, 'get'>
  shownBatches: Pick<ShownBatches, 'has'>
}

/** Only in a turn: the actions are those of the batch that waits now. */
export async function approvalsOf(
  { id, state }: Pick<LiveReader, 'id' | 'state'>,
  { keyId: actor }: Pick<Actor, 'keyId'>,
  { events, shownBatches }: ApprovalDeps,
): Promise<Approvals> {
  const awaited = state().awaiting_approval
  const actions =
    awaited === null ? [] : await digests(awaited, async (action) => (await events.get(id, action))?.event)
  const isShown = awaited !== null && (await shownBatches.has(id, awaited.batch_id))
  return { actor, isShown, actions }
}

/** The actions that a person sees, each with its digest. Those of a sub-agent are part of its question. */
async function digests(
  awaited: AwaitedApproval,
  stored: (id: EventId) => Promise<unknown>,
): Promise<Approvals['actions']> {
  if (awaited.sub_agent !== undefined)
    return awaited.sub_agent.actions.map(({ action_id, tool_name, action }) => ({
      action_id,
      digest: callDigest({ tool_name, action }),
    }))
  return Promise.all(
    awaited.actions.map(async ({ action_id }) => {
      const event = (await stored(action_id)) as { tool_name?: unknown; action?: unknown } | undefined
      return { action_id, digest: callDigest({ tool_name: event?.tool_name, action: event?.action }) }
    }),
  )
}
