/** What a conversation that waits for a sub-agent does next. Pure. Source: agent-core.md 12.1 (a), (b), (c), (e); F09, F66. */
import type { ConfirmationPolicy, ConversationState, SecurityAnalyzer } from '@parley/protocol'
import { hasToStartAgain } from '../start/phases/index.ts'
import { tighten } from './guard.ts'

export type Kinship = {
  parent: ConversationState
  child: ConversationState
  /** The id that the child's question has in the parent's log. */
  question: (batch: string) => string
  /** The child has been seen at work since it was last set to work. */
  hasWorked: boolean
  /** Those above the child can pay for nothing more. */
  isOverdrawn: boolean
}

export type Attention =
  | { kind: 'wait' }
  /** Take over a stricter guard. */
  | { kind: 'guard'; policy: ConfirmationPolicy; analyzer: SecurityAnalyzer | null }
  | { kind: 'pause' }
  | { kind: 'run' }
  /** Pass the answer to the child's waiting batch down, or ask for it. */
  | { kind: 'consult'; batch: string }
  /** The question that stands in the parent's log was answered in the child's own. */
  | { kind: 'withdraw' }
  /** Pause the parent too: its budget is used up. */
  | { kind: 'exhaust' }
  | { kind: 'ended' }

/** The next move; each rule is one row of a table test. */
export function attention({ parent, child, question, hasWorked, isOverdrawn }: Kinship): Attention {
  const policy = tighten(child.confirmation_policy, parent.confirmation_policy)
  const analyzer = parent.security_analyzer ?? child.security_analyzer
  if (!isSame(policy, child.confirmation_policy) || !isSame(analyzer, child.security_analyzer))
    return { kind: 'guard', policy, analyzer }
  const isWanted = isActive(parent)
  const batch = child.awaiting_approval?.llm_response_id ?? null
  const asked = parent.awaiting_approval
  if (
    asked?.sub_agent !== undefined &&
    isOf(asked.llm_response_id, question) &&
    asked.llm_response_id !== question(batch ?? '')
  )
    return { kind: 'withdraw' }
  if (hasToStartAgain(child)) return { kind: 'ended' }
  switch (child.execution_status) {
    case 'running':
      return isWanted ? { kind: 'wait' } : { kind: 'pause' }
    case 'waiting_for_confirmation':
      if (!isWanted || batch === null || asked?.llm_response_id === question(batch)) return { kind: 'wait' }
      return { kind: 'consult', batch }
    case 'paused':
      if (!isWanted) return { kind: 'wait' }
      if (isOverdrawn) return { kind: 'exhaust' }
      // Whoever paused it while it was wanted to work means it.
      return hasWorked ? { kind: 'ended' } : { kind: 'run' }
    case 'idle':
      return isWanted ? { kind: 'run' } : { kind: 'wait' }
    default:
      return { kind: 'ended' }
  }
}

/** Whether it wants its sub-agents to work; a person is asked on behalf of one, and the others go on. */
export const isActive = ({ execution_status: status }: ConversationState): boolean =>
  status === 'running' || status === 'waiting_for_confirmation'

/** Whether a question of the parent's log is one of this child. */
const isOf = (id: string, question: Kinship['question']): boolean => id.startsWith(question(''))

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)
