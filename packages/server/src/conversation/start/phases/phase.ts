/**
 * A start as a list of named phases.
 *
 * Invariants
 *   P1. A phase is recorded before it begins and after it ended; its change of the record is stored with its end.
 *   P2. A phase may be killed at any point and run again. A phase whose end is stored is not run again: it no longer applies.
 *   P3. Each phase has its own deadline; when that passes, the start fails with the phase's code.
 */
import type { ConversationRecord, OwnedConversation } from '../../record/record.ts'

/** In this order. `agent` and `ready` belong to the engine. */
export const PHASES = ['workspace', 'repository', 'branch', 'setup', 'skills', 'agent', 'ready'] as const
export type PhaseName = (typeof PHASES)[number]

export type PhaseEnd = {
  /** A sentence for the event. */
  detail?: string | null
  /** Change of the record, stored together with the event. */
  change?: Partial<ConversationRecord>
}

export type Phase = {
  name: Exclude<PhaseName, 'ready'>
  /** Milliseconds. */
  deadlineMs: number
  /** Code of a start that this deadline ended. */
  timeoutCode: string
  /** Subject of the sentence that reports a passed deadline. */
  subject(record: ConversationRecord): string
  applies(record: ConversationRecord): boolean
  /** Stops its work when the signal aborts, and only then rejects. */
  run(conversation: OwnedConversation, signal: AbortSignal): Promise<PhaseEnd>
}

/** Milliseconds that each phase may take. */
export type PhaseDeadlines = Record<Exclude<PhaseName, 'ready'>, number>

/** Source of the deadline for a clone: agent-core.md 12.9; for a set-up script: conversation-service.md 1.6. */
export const DEFAULT_DEADLINES: PhaseDeadlines = {
  workspace: 30_000,
  repository: 300_000,
  branch: 120_000,
  setup: 600_000,
  skills: 300_000,
  agent: 120_000,
}

/** The failure of a start: the phase's code, and a sentence for people. */
export class StartFailure extends Error {
  readonly code: string
  constructor(code: string, message: string) {
    super(message)
    this.name = 'StartFailure'
    this.code = code
  }
}

/** Code of a passed deadline without a more specific code. */
export const START_TIMEOUT = 'STATUS$START_TIMEOUT'
