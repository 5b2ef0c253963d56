import type { Draft, StartPhaseEvent, StartProgress } from '@parley/protocol'
import type { ConversationRecord } from '../../record/record.ts'
import { PHASES, StartFailure, type Phase, type PhaseName, type Starting } from './phase.ts'

export type PhaseHost = {
  starting(): Starting
  /** The newest phase that was recorded. */
  progress(): StartProgress | null
  /** Resolves when both are durable. */
  commit(drafts: readonly Draft[], change: Partial<ConversationRecord>): Promise<void>
}

/** What the last phase has to say, for the commit that ends the start. */
export type LastWords = { drafts: Draft[]; change: Partial<ConversationRecord> }

/**
 * Takes a start through those phases that still apply. The end of one and the beginning of the next are one commit; the end of
 * the last is returned, because what follows belongs into the same transaction.
 * @throws StartFailure when a deadline passed, the phase's own error, or the signal's reason
 */
export async function runPhases(phases: readonly Phase[], host: PhaseHost, signal: AbortSignal): Promise<LastWords> {
  let last: LastWords = { drafts: [], change: {} }
  const from = PHASES.findIndex((name) => name === host.progress()?.phase)
  for (const phase of phases) {
    // The agent lives in this process, so what an earlier one recorded of it does not count.
    if (PHASES.indexOf(phase.name) < from && phase.name !== 'agent') continue
    if (!phase.applies({ ...host.starting().record, ...last.change })) continue
    const { phase: newest, status } = host.progress() ?? {}
    const isBegun = last.drafts.length === 0 && newest === phase.name && status === 'started'
    if (!isBegun) await host.commit([...last.drafts, phaseEvent(phase.name, 'started')], last.change)
    const { detail = null, change = {} } = await inTime(phase, host.starting(), signal)
    last = { drafts: [phaseEvent(phase.name, 'done', null, detail)], change }
  }
  return last
}

async function inTime(phase: Phase, starting: Starting, signal: AbortSignal) {
  const late = new AbortController()
  const { deadlineMs, timeoutCode } = phase
  const subject = phase.subject(starting.record)
  const reason = new StartFailure(
    timeoutCode,
    `${subject} took longer than the ${deadlineMs / 1000} s that it may take.`,
  )
  const timer = setTimeout(() => late.abort(reason), deadlineMs)
  try {
    signal.throwIfAborted()
    return await phase.run(starting, AbortSignal.any([signal, late.signal]))
  } catch (error) {
    // What a phase says when it was cut off is less than why it was.
    signal.throwIfAborted()
    late.signal.throwIfAborted()
    throw error
  } finally {
    clearTimeout(timer)
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
