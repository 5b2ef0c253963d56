/** Interrupts a sub-agent whose work nobody wants any more. Source: agent-core.md 12.1, F09. */
import { ParleyError, type ConversationId, type ConversationState } from '@parley/protocol'
import { sleep } from '../../lib/index.ts'
import type { Actor } from '../conversations.ts'
import { RunCancelled } from '../run/interruption.ts'
import type { Roster } from '../live/roster.ts'

/** Milliseconds before it is tried again with a conversation that was just being let go of, or answered. */
const AGAIN_MS = 100
/** One that asks is refused, and may go on with that; then it is interrupted. The rest is for those who get in between. */
const MAX_TRIES = 20

const ACTOR: Actor = { user: '', role: 'user', keyId: 'the conversation that it worked for' }

const AT_WORK: ReadonlySet<ConversationState['execution_status']> = new Set(['running', 'waiting_for_confirmation'])

/** Whether a conversation of this status does something: one that is paused may not have come to the end of its step. */
export const mayBeInStep = (status: ConversationState['execution_status']): boolean =>
  AT_WORK.has(status) || status === 'paused'

export type CallOffDeps = {
  roster: Pick<Roster, 'load'>
  log: { warn(fields: object, message: string): void }
}

/**
 * Resolves when the sub-agent is not at work, which is durable then; what it wanted to do and was not allowed yet is refused,
 * because nobody can be asked any more. Never rejects.
 */
export async function callOff({ roster, log }: CallOffDeps, id: ConversationId): Promise<void> {
  try {
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      if (await isAtRest(roster, id)) return
    }
    log.warn({ conversation_id: id }, 'a sub-agent went on although it was interrupted')
  } catch (err) {
    // One that is gone does nothing, and one that this process lets go of is for the next process.
    if (err instanceof ParleyError && (err.code === 'not_found' || err.code === 'unavailable')) return
    log.warn({ conversation_id: id, err }, 'a sub-agent could not be interrupted')
  }
}

/** Looks once, and does what is to be done then. False: look again. */
async function isAtRest(roster: CallOffDeps['roster'], id: ConversationId): Promise<boolean> {
  try {
    const child = await roster.load(id)
    const { execution_status: status, awaiting_approval: awaited } = child.state()
    if (!mayBeInStep(status)) return true
    if (status !== 'waiting_for_confirmation' || awaited === null || awaited.sub_agent !== undefined) {
      await child.send({ kind: 'interrupt' }, ACTOR)
      return !AT_WORK.has(child.state().execution_status)
    }
    const reason = 'The conversation that asked for this work was interrupted.'
    await child.send({ kind: 'respond', accept: false, reason, llm_response_id: awaited.llm_response_id }, ACTOR)
    return false
  } catch (error) {
    const isRace = error instanceof RunCancelled || (error instanceof ParleyError && error.code === 'conflict')
    if (!isRace) throw error
    await sleep(AGAIN_MS, new AbortController().signal)
    return false
  }
}
