/** Moving to another point of the conversation: when it is allowed, and where it leads. */
import { ParleyError, type ConversationId, type ConversationState, type EventId } from '@parley/protocol'
import { abortable } from '../../lib/index.ts'
import type { EventStore } from '../../storage/index.ts'
import { earlierOutcomes } from '../branch/earlier-outcomes.ts'
import { navigationTarget, readBranch } from '../branch/reader.ts'
import type { Navigation } from '../commands.ts'
import type { Command } from '../conversations.ts'
import type { LiveReader } from '../live-access.ts'
import { givenOn } from '../log/knowledge.ts'
import type { CondensationRequest } from '../run/condensation-request.ts'
import type { Running } from '../run/running.ts'

/** Longest wait for the end of a step that a pause lets finish, in milliseconds. */
const STEP_WAIT_MS = 5000

/** A step that is finishing belongs to the branch that it began on. @throws ParleyError `conflict` while it is active */
export async function expectAtRest(
  { state }: Pick<LiveReader, 'state'>,
  running: Running,
  condensation: CondensationRequest,
): Promise<void> {
  if (condensation.isOpen)
    throw new ParleyError('conflict', 'The conversation is being condensed. Navigate when that is done.')
  if (state().execution_status === 'running' || !running.isActive) return
  if (!running.isWaiting) await abortable(running.ended, AbortSignal.timeout(STEP_WAIT_MS)).catch(() => undefined)
  if (!running.isActive) return
  throw new ParleyError(
    'conflict',
    'The conversation is paused, but a step of it is still running. Interrupt it before you navigate, or wait for its end.',
  )
}

/** @throws ParleyError `conflict` when the leaf is another one than its caller knows */
export function expectLeaf(
  { leaf_event_id }: Pick<ConversationState, 'leaf_event_id'>,
  { expected_leaf }: Extract<Command, { kind: 'navigate' }>,
): void {
  if (expected_leaf === undefined || expected_leaf === leaf_event_id) return
  throw new ParleyError(
    'conflict',
    'The conversation has moved on: its leaf is another event. Read it and try again.',
    {
      details: { leaf_event_id },
    },
  )
}

/** The place of an event in the log; 0 for the empty tree. */
export async function seqOf(event: EventId | null, id: ConversationId, events: EventStore): Promise<number> {
  return event === null ? 0 : ((await events.get(id, event))?.seq ?? 0)
}

/** The target of a navigation, and the active skills whose text stands on its branch. @throws ParleyError `not_found` */
export async function targetOf(
  event: Extract<Command, { kind: 'navigate' }>['event_id'],
  { id, state }: Pick<LiveReader, 'id' | 'state'>,
  events: EventStore,
): Promise<Navigation> {
  const { blocked_messages, activated_knowledge_skills: active } = state()
  const target = await navigationTarget(events, id, event, blocked_messages)
  if (target === null) throw new ParleyError('not_found', `Event not found: ${event}`, { details: { event_id: event } })
  const outcomes = await earlierOutcomes(events, id, target.open_actions)
  if (active.length === 0) return { kind: 'navigate', target, outcomes }
  const path = await readBranch(events, id, target.to)
  return { kind: 'navigate', target, outcomes, given: givenOn(path, active) }
}
