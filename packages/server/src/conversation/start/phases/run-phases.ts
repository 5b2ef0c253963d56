import type { Draft, StartPhaseEvent } from '@parley/protocol'
import { timeLimit } from '../../../lib/index.ts'
import type { LiveReader } from '../../live-access.ts'
import type { ConversationRecord, OwnedConversation } from '../../record/record.ts'
import { PHASES, StartFailure, type Phase, type PhaseName } from './phase.ts'

/** Resolves when the drafts and the change of the record are durable. */
export type CommitPhase = (drafts: readonly Draft[], change: Partial<ConversationRecord>) => Promise<unknown>

/** The end of the last phase, for the commit that ends the start. */
export type LastPhaseEnd = { drafts: Draft[]; change: Partial<ConversationRecord> }

/**
 * Takes a start through those phases that still apply. The end of one phase and the beginning of the next are one commit. The
 * end of the last phase is returned, because the same transaction also stores the end of the start. `confirm` resolves when this process
 * may begin an effect.
 * @throws StartFailure when a deadline passed, the phase's own error, or the signal's reason
 */
export async function runPhases(
  phases: readonly Phase[],
  live: Pick<LiveReader, 'id' | 'owner' | 'epoch' | 'state' | 'record'>,
  commit: CommitPhase,
  confirm: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<LastPhaseEnd> {
  const { id, owner, epoch, state, record } = live
  let last: LastPhaseEnd = { drafts: [], change: {} }
  const from = PHASES.findIndex((name) => name === state().start?.phase)
  for (const phase of phases) {
    // The agent lives in this process, so the record that an earlier process made of its phase does not count.
    if (PHASES.indexOf(phase.name) < from && phase.name !== 'agent') continue
    if (!phase.applies({ ...record(), ...last.change })) continue
    const { phase: newest, status } = state().start ?? {}
    const isBegun = last.drafts.length === 0 && newest === phase.name && status === 'started'
    if (!isBegun) await commit([...last.drafts, phaseEvent(phase.name, 'started')], last.change)
    await confirm(signal)
    const { detail = null, change = {} } = await inTime(phase, { id, owner, epoch, record: record() }, signal)
    last = { drafts: [phaseEvent(phase.name, 'done', null, detail)], change }
  }
  return last
}

async function inTime(phase: Phase, conversation: OwnedConversation, signal: AbortSignal) {
  const late = new AbortController()
  const { deadlineMs, timeoutCode } = phase
  const subject = phase.subject(conversation.record)
  const reason = new StartFailure(
    timeoutCode,
    `${subject} took longer than the ${deadlineMs / 1000} s that it may take.`,
  )
  using _limit = timeLimit(deadlineMs, () => late.abort(reason))
  try {
    signal.throwIfAborted()
    return await phase.run(conversation, AbortSignal.any([signal, late.signal]))
  } catch (error) {
    // The reason of the abort says more than the error of the interrupted phase.
    signal.throwIfAborted()
    late.signal.throwIfAborted()
    throw error
  }
}

export function phaseEvent(
  phase: PhaseName,
  status: StartPhaseEvent['status'],
  code: string | null = null,
  detail: string | null = null,
): Draft {
  return { kind: 'StartPhaseEvent', source: 'environment', phase, status, code, detail }
}
