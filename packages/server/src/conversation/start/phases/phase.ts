/**
 * A start as a list of named phases.
 *
 * Invariants
 *   P1. A phase is recorded before it begins and after it ended; what it changed in the record is stored with its end.
 *   P2. A phase may be killed anywhere and be run again. One whose end is stored is not run again: it no longer applies.
 *   P3. Each has a deadline of its own; when that passes, the start fails with the phase's code.
 */
import type { ConversationId } from '@parley/protocol'
import type { ConversationRecord } from '../../record/record.ts'

/** In this order. `agent` and `ready` are the heart's own. */
export const PHASES = ['workspace', 'repository', 'branch', 'setup', 'skills', 'agent', 'ready'] as const
export type PhaseName = (typeof PHASES)[number]

/** The conversation that starts. */
export type Starting = { id: ConversationId; owner: string; epoch: number; record: ConversationRecord }

export type PhaseEnd = {
  /** In words, for the event. */
  detail?: string | null
  /** Stored together with the event. */
  change?: Partial<ConversationRecord>
}

export type Phase = {
  name: Exclude<PhaseName, 'ready'>
  /** Milliseconds. */
  deadlineMs: number
  /** Of a start that this deadline ended. */
  timeoutCode: string
  /** What was too slow, in words. */
  subject(record: ConversationRecord): string
  applies(record: ConversationRecord): boolean
  /** Stops what it started when the signal aborts, and only then rejects. */
  run(starting: Starting, signal: AbortSignal): Promise<PhaseEnd>
}

/** Milliseconds that each phase may take. */
export type PhaseDeadlines = Record<Exclude<PhaseName, 'ready'>, number>

/** Source of the one for a clone: agent-core.md 12.9; of a set-up script: conversation-service.md 1.6. */
export const DEFAULT_DEADLINES: PhaseDeadlines = {
  workspace: 30_000,
  repository: 300_000,
  branch: 120_000,
  setup: 600_000,
  skills: 300_000,
  agent: 120_000,
}

/** Why a start ended: the phase's code, and a sentence for people. */
export class StartFailure extends Error {
  readonly code: string
  constructor(code: string, message: string) {
    super(message)
    this.name = 'StartFailure'
    this.code = code
  }
}

/** The code of a start that somebody called off, and of a conversation that was stopped. Source: conversation-service.md 1.5. */
export const STOPPED = 'STATUS$STOPPED'
/** The code of a deadline that has no more exact one. */
export const START_TIMEOUT = 'STATUS$START_TIMEOUT'
