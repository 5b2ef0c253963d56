/** Answers a question beside the conversation. Source: agent-core.md 3.8, F76. */
import type { Llm } from '../../llm/index.ts'
import type { SideAnswer, StepContext } from '../agent.ts'
import { usage } from '../drafts.ts'
import { enforceProperties } from '../view/view-properties.ts'
import { withUserText } from '../view/with-user-text.ts'
import { agentRequest, namesOf, type AgentRequestDeps } from './agent-request.ts'
import { refusedParts } from './leave-out.ts'

const FRAME = (question: string) =>
  `[A question beside the task. Answer it in words, from what you know by now. Do not call tools, and do not go on with the ` +
  `task: neither this question nor your answer becomes part of the conversation.]\n\n${question}`

export type AskDeps = AgentRequestDeps & { llm: Llm }

/**
 * Answers from a copy of the view. The request carries the tools, because providers refuse a history with calls without them;
 * none is called. A part that the server refuses is left out of this question alone.
 * @throws LlmError
 */
export async function ask(
  deps: AskDeps,
  question: string,
  context: StepContext,
  signal: AbortSignal,
): Promise<SideAnswer> {
  const { llm, gateway } = deps
  const whole = context.view()
  // Calls that still run are left out: they have no result yet, and providers refuse calls without one.
  const view = enforceProperties(whole, whole)
  for (let leftOut = context.state().left_out; ;) {
    const asked = agentRequest(deps, view, context, leftOut)
    const messages = withUserText(asked.messages, FRAME(question))
    try {
      const answer = await llm.complete({ ...asked, messages }, () => undefined, signal)
      return { text: answer.text.trim(), drafts: [usage(answer, answer.responseId, llm)] }
    } catch (error) {
      const refused = refusedParts(error, { view, known: leftOut, tools: namesOf(asked.tools, gateway) })
      if (signal.aborted || refused.length === 0) throw error
      leftOut = [...leftOut, ...refused]
    }
  }
}
