/** A conversation as a recording for replay, or as an archive. Secrets stay hidden in both. */
import { isTreeEvent, parentOf, wireEvent, type ConversationId, type TreeEvent } from '@parley/protocol'
import { redact } from '../../secrets/index.ts'
import type { Actor, Conversations } from '../conversations.ts'
import { inV0 } from './write-v0.ts'

export type TrajectoryFormat = 'events' | 'v0'
export type Trajectory = { trajectory: Record<string, unknown>[]; working_dir: string }

const PAGE = 500

/** Returns the active branch, root first, as `replay_json` accepts it. @throws ParleyError `not_found`. */
export async function trajectoryOf(
  conversations: Conversations,
  id: ConversationId,
  actor: Actor,
  format: TrajectoryFormat,
): Promise<Trajectory> {
  const info = await conversations.info(id, actor)
  const branch = (await activeBranch(conversations, id, actor)).map(hidden) as TreeEvent[]
  const trajectory = (format === 'v0' ? inV0(branch) : branch) as Record<string, unknown>[]
  return { trajectory, working_dir: info.workspace.working_dir }
}

/** An event as the wire shows it, members with secrets hidden; secret values were masked before it was stored. */
export const hidden = (event: Parameters<typeof wireEvent>[0]): Record<string, unknown> =>
  redact(wireEvent(event), 'socket') as Record<string, unknown>

async function activeBranch(conversations: Conversations, id: ConversationId, actor: Actor): Promise<TreeEvent[]> {
  const path: TreeEvent[] = []
  let { leaf_event_id: wanted } = await conversations.info(id, actor)
  let before: number | undefined
  while (wanted !== null) {
    const asked = { filter: {}, order: 'desc', limit: PAGE, ...(before === undefined ? {} : { seq: before }) } as const
    const { items } = await conversations.searchEvents(id, asked, actor)
    if (items.length === 0) break
    for (const { event } of items) {
      if (event.id !== wanted || !isTreeEvent(event)) continue
      path.push(event)
      wanted = parentOf(event)
    }
    before = items.at(-1)!.seq
  }
  return path.reverse()
}
