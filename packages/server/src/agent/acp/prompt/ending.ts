/** Chooses the closing drafts of a turn by the way it ended. Source: agent-core.md 11.8, 11.11. */
import type { ACPAgent, ConversationState, Draft } from '@parley/protocol'
import type { StepContext } from '../../agent.ts'
import type { Log } from '../../agent.ts'
import {
  completedDrafts,
  failedDrafts,
  interruptedDrafts,
  stuckDrafts,
  supersededDrafts,
  type ClosingTurn,
} from './closing.ts'
import type { AcpAgentDeps, PromptState } from './prompt-state.ts'
import { AcpFailure, reportFailure } from '../failure.ts'
import { nextPrompt } from './prompts.ts'
import type { AcpState } from '../state.ts'
import type { TurnEnd } from './turn.ts'
import { tokensOf } from '../session/usage.ts'

type EndDeps = Pick<AcpAgentDeps, 'priceOf' | 'conversationId'> & { agent: ACPAgent; log: Log }

export async function endDrafts(
  current: PromptState,
  end: TurnEnd,
  view: StepContext,
  deps: EndDeps,
): Promise<Draft[]> {
  const closing = await closingTurn(current, end, view.state(), deps)
  const done = { ...closing, change: { ...closing.change, acp_inflight_prompt_user_message_id: null } }
  switch (end.kind) {
    case 'completed': {
      const refusal = refusalOf(end.answer)
      if (refusal !== null) return failedDrafts(closing, refusal)
      const next = nextPrompt(view.view())
      const isLast = next === null || (next.message.id === current.message.id && next.waiting === 0)
      const installed = { ...done, change: { ...done.change, acp_suffix_installed: true } }
      return completedDrafts(installed, end.answer, { isLast })
    }
    case 'silent':
      return failedDrafts(closing, promptTimeout(deps.agent))
    case 'failed':
      return failedDrafts(closing, reportFailure(end.failure, deps))
    case 'cancelled':
      if (current.cancelReason === 'superseded') return supersededDrafts(done)
      if (current.stuckDetail !== null)
        return [
          ...interruptedDrafts(closing, '[Stopped here: going round in circles.]'),
          ...stuckDrafts(current.stuckDetail),
        ]
      if (current.cancelReason === 'budget') return interruptedDrafts(closing, '[Stopped here: the budget is used up.]')
      return interruptedDrafts(closing, '[Interrupted here.]')
  }
}

/** The failure in a result that is not an answer; null when it is one. */
function refusalOf({ stopReason }: Record<string, unknown>): AcpFailure | null {
  if (stopReason === 'refusal')
    return new AcpFailure('UsagePolicyRefusal', 'The model refused to answer because of its usage policy.')
  if (stopReason === 'cancelled') return new AcpFailure('ACPPromptError', 'The agent broke the prompt off by itself.')
  return null
}

const promptTimeout = ({ acp_prompt_timeout: seconds }: ACPAgent): AcpFailure =>
  new AcpFailure(
    'ACPPromptTimeout',
    `The agent was silent for ${seconds} s (acp_prompt_timeout), and the prompt was given up.`,
  )

async function closingTurn(
  { turn, responseId, costBefore, running }: PromptState,
  end: TurnEnd,
  state: ConversationState,
  { agent, priceOf }: EndDeps,
): Promise<ClosingTurn> {
  const model = running.session.models.current ?? agent.llm.model
  const total = turn.usage.sessionCost
  const reported = total === null ? null : Math.max(0, total - costBefore)
  const tokens = end.kind === 'completed' ? tokensOf(end.answer) : null
  const estimated = reported === null && tokens !== null ? ((await priceOf?.(model, tokens)) ?? null) : null
  const change: Partial<AcpState> = total === null ? {} : { acp_session_cost: total }
  return { turn, state, responseId, usageId: agent.llm.usage_id, model, cost: reported ?? estimated, change }
}
