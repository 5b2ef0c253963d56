/** Moving to another place of the conversation: when it may, and where to. */
import { ParleyError } from '@parley/protocol'
import { abortable } from '../../lib/index.ts'
import { navigationTarget, readBranch } from '../branch/reader.ts'
import type { NavigationTarget } from '../commands.ts'
import type { Command } from '../conversations.ts'
import { givenOn } from '../log/knowledge.ts'
import type { Running } from '../run/running.ts'
import type { Core } from './core.ts'

/** How long navigating waits for the end of a step that a pause lets finish. */
const STEP_WAIT_MS = 5000

/** A step that is being finished belongs to the branch that it began on. @throws ParleyError `conflict` when it goes on. */
export async function expectStill({ wish, log }: Pick<Core, 'wish' | 'log'>, running: Running): Promise<void> {
  if (wish.isOpen) throw new ParleyError('conflict', 'The conversation is being condensed. Navigate when that is done.')
  if (log.state.execution_status === 'running' || !running.isGoingOn) return
  if (!running.isLending) await abortable(running.ended, AbortSignal.timeout(STEP_WAIT_MS)).catch(() => undefined)
  if (!running.isGoingOn) return
  throw new ParleyError(
    'conflict',
    'The conversation is paused, and a step of it still goes on. Interrupt it before you navigate, or wait for its end.',
  )
}

/** Where navigating to `event` leads, and which active skills are given there. @throws ParleyError `not_found`. */
export async function targetOf(
  event: Extract<Command, { kind: 'navigate' }>['event_id'],
  { id, log, deps }: Pick<Core, 'id' | 'log' | 'deps'>,
): Promise<{ kind: 'navigate'; target: NavigationTarget; given?: string[] }> {
  const { events } = deps.storage
  const target = await navigationTarget(events, id, event, log.state.blocked_messages)
  if (target === null) throw new ParleyError('not_found', `Event not found: ${event}`, { details: { event_id: event } })
  const { activated_knowledge_skills: active } = log.state
  if (active.length === 0) return { kind: 'navigate', target }
  const path = await readBranch(events, id, target.to)
  return { kind: 'navigate', target, given: givenOn(path, active) }
}
