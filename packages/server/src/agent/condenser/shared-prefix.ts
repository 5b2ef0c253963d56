/**
 * A request for a summary that begins like the agent's preceding request, so that its provider reads nearly all of it from the cache.
 * Source: docs/condensation.md, How a summary is requested.
 *
 * Rules
 *   S1. System prompt, tools, messages and parameters are those of the agent's next request; one message follows them.
 *   S2. No such request is made where the provider would not find its beginning in the cache, or where it does not fit the window.
 *   S3. An answer that calls a tool is no summary, and the call is not executed.
 */
import { featuresOf, type LlmAnswer, type LlmErrorCode, type LlmMessage, type LlmRequest } from '../../llm/index.ts'
import { readAnswer } from '../native/read-answer.ts'
import { withUserText } from '../view/with-user-text.ts'
import type { CondenserInput } from './condenser.ts'
import type { Range } from './plan.ts'
import { summaryInstruction } from './summary-prompt.ts'

/** A conservative estimate for the instruction. */
const CHARS_PER_TOKEN = 3

/** Failures that a shorter request of another form would repeat. */
const REPEATED: ReadonlySet<LlmErrorCode> = new Set([
  'LLMAuthenticationError',
  'LLMNotConfigured',
  'LLMPriceUnknown',
  'LLMRateLimitError',
  'LLMServiceUnavailableError',
  'LLMTimeoutError',
])

/** Returns the request for a summary of a range of the view; null where it has to be made in another form (S2). */
export function prefixRequest({ view, next, meter }: CondenserInput, range: Range): LlmRequest | null {
  if (next === null) return null
  const instruction = summaryInstruction(view, range)
  if (next.limit !== null && meter.view(view) + instruction.length / CHARS_PER_TOKEN > next.limit) return null
  const request = next.request()
  // The instruction is a message like one of a person, so the provider would remove reasoning from the prefix.
  if (featuresOf(next.llm).forgetsReasoning && hasReasoningInTurn(request.messages)) return null
  return { ...request, messages: withUserText(request.messages, instruction) }
}

/** Returns the text of the summary; null when the answer is none (S3). */
export function summaryIn(given: LlmAnswer, { tools }: Pick<LlmRequest, 'tools'>): string | null {
  const { answer, writtenCall } = readAnswer(given, tools, (name) => tools.some((tool) => tool.name === name))
  if (answer.toolCalls.length > 0 || writtenCall !== null) return null
  if (answer.finishReason !== 'stop' && answer.finishReason !== 'length' && answer.finishReason !== 'other') return null
  const text = answer.text.trim()
  return text === '' ? null : text
}

/** Returns whether a request in another form can succeed after this failure. */
export const isWorthAnotherForm = (code: LlmErrorCode): boolean => !REPEATED.has(code)

function hasReasoningInTurn(messages: readonly LlmMessage[]): boolean {
  const turn = messages.slice(messages.findLastIndex(({ role }) => role === 'user') + 1)
  return turn.some(
    (message) => message.role === 'assistant' && message.raw?.parts.some(({ type }) => type === 'reasoning') === true,
  )
}
