/** Answers a question beside the conversation. Source: agent-core.md 3.8, F76. */
import type { Llm, LlmTool } from '../../llm/index.ts'
import type { SideAnswer, StepContext } from '../agent.ts'
import { usage } from '../drafts.ts'
import { MessageBuilder } from '../view/messages.ts'
import { enforceProperties } from '../view/view-properties.ts'
import { withUserText } from '../view/with-user-text.ts'

const FRAME = (question: string) =>
  `[A question beside the task. Answer it in words, from what you know by now. Do not call tools, and do not go on with the ` +
  `task: neither this question nor your answer becomes part of the conversation.]\n\n${question}`

export type AskDeps = { llm: Llm; tools: readonly LlmTool[] }

/**
 * Answers from a copy of the view. The request carries the tools, because providers refuse a history with calls without them;
 * none is called.
 * @throws LlmError
 */
export async function ask(
  { llm, tools }: AskDeps,
  question: string,
  context: StepContext,
  signal: AbortSignal,
): Promise<SideAnswer> {
  const view = context.view()
  // Calls that still run are left out: they have no result yet, and providers refuse calls without one.
  const history = new MessageBuilder().build(enforceProperties(view, view), context.state().left_out)
  const request = {
    messages: withUserText(history, FRAME(question)),
    tools,
    cacheKey: context.cacheKey ?? context.conversationId,
  }
  const answer = await llm.complete(request, () => undefined, signal)
  return { text: answer.text.trim(), drafts: [usage(answer, answer.responseId, llm)] }
}
