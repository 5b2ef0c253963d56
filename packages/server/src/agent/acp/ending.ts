/** What becomes of a turn, by the way it ended. Source: agent-core.md 11.8, 11.11. */
import type { ACPAgent, ConversationState, Draft } from '@parley/protocol'
import type { Turn } from '../agent.ts'
import type { Log } from '../gateway.ts'
import { completed, failed, interrupted, stuckDrafts, superseded, type ClosingParts } from './closing.ts'
import type { AcpAgentDeps, Current } from './current.ts'
import { AcpFailure, toldFailure } from './failure.ts'
import { nextPrompt } from './prompts.ts'
import type { AcpState } from './state.ts'
import type { TurnEnd } from './turn.ts'
import { tokensOf } from './usage.ts'

type EndDeps = Pick<AcpAgentDeps, 'priceOf' | 'conversationId'> & { agent: ACPAgent; log: Log }

/** What is stored for it. */
export async function endDrafts(current: Current, end: TurnEnd, view: Turn, deps: EndDeps): Promise<Draft[]> {
  const parts = await closingParts(current, end, view.state(), deps)
  const done = { ...parts, change: { ...parts.change, acp_inflight_prompt_user_message_id: null } }
  switch (end.kind) {
    case 'completed': {
      const refusal = refusalIn(end.answer)
      if (refusal !== null) return failed(parts, refusal)
      const next = nextPrompt(view.view())
      const isLast = next === null || (next.message.id === current.message.id && next.waiting === 0)
      const installed = { ...done, change: { ...done.change, acp_suffix_installed: true } }
      return completed(installed, end.answer, { isLast })
    }
    case 'silent':
      return failed(parts, silence(deps.agent))
    case 'failed':
      return failed(parts, toldFailure(end.failure, deps))
    case 'cancelled':
      if (current.because === 'superseded') return superseded(done)
      if (current.stuck !== null)
        return [...interrupted(parts, '[Stopped here: going round in circles.]'), ...stuckDrafts(current.stuck)]
      if (current.because === 'budget') return interrupted(parts, '[Stopped here: the budget is used up.]')
      return interrupted(parts, '[Interrupted here.]')
  }
}

/** An answer that is none. */
function refusalIn({ stopReason }: Record<string, unknown>): AcpFailure | null {
  if (stopReason === 'refusal')
    return new AcpFailure('UsagePolicyRefusal', 'The model refused to answer because of its usage policy.')
  if (stopReason === 'cancelled') return new AcpFailure('ACPPromptError', 'The agent broke the prompt off by itself.')
  return null
}

const silence = ({ acp_prompt_timeout: seconds }: ACPAgent): AcpFailure =>
  new AcpFailure(
    'ACPPromptTimeout',
    `The agent was silent for ${seconds} s (acp_prompt_timeout), and the prompt was given up.`,
  )

async function closingParts(
  { turn, responseId, costBefore, held }: Current,
  end: TurnEnd,
  state: ConversationState,
  { agent, priceOf }: EndDeps,
): Promise<ClosingParts> {
  const model = held.session.models.current ?? agent.llm.model
  const total = turn.spent.sessionCost
  const told = total === null ? null : Math.max(0, total - costBefore)
  const tokens = end.kind === 'completed' ? tokensOf(end.answer) : null
  const estimated = told === null && tokens !== null ? ((await priceOf?.(model, tokens)) ?? null) : null
  const change: Partial<AcpState> = total === null ? {} : { acp_session_cost: total }
  return { turn, state, responseId, usageId: agent.llm.usage_id, model, cost: told ?? estimated, change }
}
