/** The next action of a conversation that waits for a sub-agent. Pure. Source: agent-core.md 12.1; F09, F66. */
import { type ConfirmationPolicy, type ConversationState, type SecurityAnalyzer } from '@parley/protocol'
import { hasToStartAgain } from '../record/start-status.ts'
import { tighten } from '../definitions/guard.ts'

export type ParentAndChild = {
  parent: ConversationState
  child: ConversationState
  /** Returns the id of the child's question in the parent's log. */
  question: (batch: string) => string
  /** True when the child was running after its work was assigned. */
  hasWorked: boolean
  /** True when the budget of the parent chain is used up. */
  isOverdrawn: boolean
}

export type NextAction =
  | { kind: 'wait' }
  /** Apply the stricter permissions to the child. */
  | { kind: 'guard'; policy: ConfirmationPolicy; analyzer: SecurityAnalyzer | null }
  | { kind: 'pause' }
  | { kind: 'run' }
  /** Relay the answer to the child's pending batch, or ask for it. */
  | { kind: 'consult'; batch: string }
  /** Withdraw the question from the parent's log: it was answered in the child's own conversation. */
  | { kind: 'withdraw' }
  /** Pause the parent too: its budget is used up. */
  | { kind: 'exhaust' }
  | { kind: 'ended' }

/** Returns the next action; each rule is one row of a table test. */
export function nextAction({ parent, child, question, hasWorked, isOverdrawn }: ParentAndChild): NextAction {
  const policy = tighten(child.confirmation_policy, parent.confirmation_policy)
  const analyzer = parent.security_analyzer ?? child.security_analyzer
  if (!isSame(policy, child.confirmation_policy) || !isSame(analyzer, child.security_analyzer))
    return { kind: 'guard', policy, analyzer }
  const isWanted = isActive(parent)
  const batch = child.awaiting_approval?.batch_id ?? null
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
      // A pause during needed work is deliberate.
      return hasWorked ? { kind: 'ended' } : { kind: 'run' }
    case 'idle':
      return isWanted ? { kind: 'run' } : { kind: 'wait' }
    default:
      return { kind: 'ended' }
  }
}

/** True when the conversation needs its sub-agents' work; while one of them asks a person, the others continue. */
export const isActive = ({ execution_status: status }: ConversationState): boolean =>
  status === 'running' || status === 'waiting_for_confirmation'

/** True when a question in the parent's log is one of this child. */
const isOf = (id: string, question: ParentAndChild['question']): boolean => id.startsWith(question(''))

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)
