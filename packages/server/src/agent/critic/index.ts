/** The kinds of critics, and when one is asked. Source: agent-core.md 3.3, 3.4. */
import { unreachable, type Critic as CriticRecord, type CriticResult } from '@parley/protocol'
import type { Critic, Evidence, Judgeable } from './critic.ts'
import { agentFinishedCritic, emptyPatchCritic, passCritic } from './simple.ts'

export { followUp, refined } from './refine.ts'
export type { Judgeable } from './critic.ts'

type Log = { warn(fields: object, message: string): void }

/** What a critic thinks of something; null when none applies, or when it failed: a critic never breaks a run. */
export type Judge = (
  judged: Judgeable,
  history: Evidence['history'],
  signal: AbortSignal,
) => Promise<CriticResult | null>

export type JudgeDeps = Pick<Evidence, 'tools'> & {
  hasChanges: (signal: AbortSignal) => Promise<boolean | null>
  log: Log
}

/** Asks the critic of a configuration about what its mode says. Starts nothing. */
export function openJudge(record: CriticRecord | null, { tools, hasChanges, log }: JudgeDeps): Judge {
  if (record === null) return () => Promise.resolve(null)
  let opened: Promise<Critic> | null = null
  return async (judged, history, signal) => {
    if (!applies(record, judged)) return null
    try {
      const critic = await (opened ??= open(record))
      // The branch goes on growing while a critic reads it.
      const evidence = { judged, history: [...history], tools, hasChanges: () => hasChanges(signal) }
      return await critic.evaluate(evidence, signal)
    } catch (error) {
      signal.throwIfAborted()
      log.warn({ critic: record.kind, err: error }, 'a critic failed; the result goes without its word')
      return null
    }
  }
}

function applies({ mode }: CriticRecord, judged: Judgeable): boolean {
  const concludes = judged.kind === 'message' || judged.action.kind === 'FinishAction'
  return mode === 'all_actions' ? judged.kind === 'action' : concludes
}

async function open(record: CriticRecord): Promise<Critic> {
  switch (record.kind) {
    case 'PassCritic':
      return passCritic
    case 'EmptyPatchCritic':
      return emptyPatchCritic
    case 'AgentFinishedCritic':
      return agentFinishedCritic
    case 'APIBasedCritic':
      return (await import('./api-based.ts')).apiBasedCritic(record)
    default:
      return unreachable(record)
  }
}
