/** Opens the critic of a configuration and decides which subjects it scores. Source: agent-core.md 3.3, 3.4. */
import { unreachable, type Critic as CriticRecord, type CriticResult } from '@parley/protocol'
import type { Fetch } from '../../egress/index.ts'
import type { Log } from '../../observability/index.ts'
import type { Critic, CriticInput, CriticSubject } from './critic.ts'
import { agentFinishedCritic, emptyPatchCritic, passCritic } from './simple.ts'

export { followUp } from './refine.ts'
export type { CriticSubject } from './critic.ts'

/**
 * Scores a subject. Null when the mode of the critic leaves the subject out, or when the critic failed: it never breaks a run.
 */
export type Critique = (
  subject: CriticSubject,
  history: CriticInput['history'],
  signal: AbortSignal,
) => Promise<CriticResult | null>

export type CriticDeps = Pick<CriticInput, 'tools'> & {
  hasChanges: (signal: AbortSignal) => Promise<boolean | null>
  /** Requests to the address of a critic. */
  fetch: Fetch
  log: Pick<Log, 'warn'>
}

/** Returns the critique of a configuration. Starts nothing. */
export function openCritic(record: CriticRecord | null, { tools, hasChanges, fetch, log }: CriticDeps): Critique {
  if (record === null) return () => Promise.resolve(null)
  let opened: Promise<Critic> | null = null
  return async (subject, history, signal) => {
    if (!applies(record, subject)) return null
    try {
      const critic = await (opened ??= open(record, fetch))
      // A copy, because the branch grows while the critic reads it.
      const input = { subject, history: [...history], tools, hasChanges: () => hasChanges(signal) }
      return await critic.evaluate(input, signal)
    } catch (error) {
      signal.throwIfAborted()
      log.warn({ critic: record.kind, err: error }, 'critic failed; the event has no score')
      return null
    }
  }
}

function applies({ mode }: CriticRecord, subject: CriticSubject): boolean {
  const concludes = subject.kind === 'message' || subject.action.kind === 'FinishAction'
  return mode === 'all_actions' ? subject.kind === 'action' : concludes
}

async function open(record: CriticRecord, fetch: Fetch): Promise<Critic> {
  switch (record.kind) {
    case 'PassCritic':
      return passCritic
    case 'EmptyPatchCritic':
      return emptyPatchCritic
    case 'AgentFinishedCritic':
      return agentFinishedCritic
    case 'APIBasedCritic':
      return (await import('./api-based.ts')).apiBasedCritic(record, fetch)
    default:
      return unreachable(record)
  }
}
