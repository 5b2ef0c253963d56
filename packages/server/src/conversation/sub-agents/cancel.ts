/** Interrupts a sub-agent whose work is no longer needed. Source: agent-core.md 12.1, F09. */
import type { Log } from '../../observability/index.ts'
import { ParleyError, type ConversationId, type ConversationState } from '@parley/protocol'
import { sleep } from '../../lib/index.ts'
import type { Actor } from '../conversations.ts'
import { RunCancelled } from '../interruption.ts'
import type { Roster } from '../live/roster.ts'

/** Milliseconds before another attempt when the conversation was leaving memory, or was answered at that moment. */
const RETRY_MS = 100
/** A pending batch is refused first, and the sub-agent may continue; then it is interrupted. Further attempts cover races. */
const MAX_TRIES = 20

const ACTOR: Actor = { user: '', role: 'user', keyId: 'the conversation that it worked for' }

const AT_WORK: ReadonlySet<ConversationState['execution_status']> = new Set(['running', 'waiting_for_confirmation'])

/** True for a status in which a step may be active: a paused conversation may not have ended its step yet. */
export const mayBeInStep = (status: ConversationState['execution_status']): boolean =>
  AT_WORK.has(status) || status === 'paused'

export type CancelDeps = {
  roster: Pick<Roster, 'load'>
  log: Pick<Log, 'warn'>
}

/**
 * Resolves when the sub-agent is at rest, durably. Its pending batch is refused, because no person can be asked any more. Never
 * rejects.
 */
export async function cancelSubAgents({ roster, log }: CancelDeps, id: ConversationId): Promise<void> {
  try {
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      if (await isAtRest(roster, id)) return
    }
    log.warn({ conversation_id: id }, 'interrupted sub-agent still running')
  } catch (err) {
    // A deleted conversation has no work; one that leaves memory belongs to the next process.
    if (err instanceof ParleyError && (err.code === 'not_found' || err.code === 'unavailable')) return
    log.warn({ conversation_id: id, err }, 'sub-agent not interrupted')
  }
}

/** One attempt. False: another one is needed. */
async function isAtRest(roster: CancelDeps['roster'], id: ConversationId): Promise<boolean> {
  try {
    const child = await roster.load(id)
    const { execution_status: status, awaiting_approval: awaited } = child.state()
    if (!mayBeInStep(status)) return true
    if (status !== 'waiting_for_confirmation' || awaited === null || awaited.sub_agent !== undefined) {
      await child.send({ kind: 'interrupt' }, ACTOR)
      return !AT_WORK.has(child.state().execution_status)
    }
    const reason = 'The conversation that asked for this work was interrupted.'
    await child.send({ kind: 'respond', accept: false, reason, batch_id: awaited.batch_id }, ACTOR)
    return false
  } catch (error) {
    const isRace = error instanceof RunCancelled || (error instanceof ParleyError && error.code === 'conflict')
    if (!isRace) throw error
    await sleep(RETRY_MS, new AbortController().signal)
    return false
  }
}
