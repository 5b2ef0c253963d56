/** Questions beside a conversation, and wishes that its model may not fulfil: what goes wrong with the model is told to whoever asked. */
import { ParleyError, type ErrorCode } from '@parley/protocol'
import { LlmError, type LlmErrorCode } from '../../llm/index.ts'

/** What a caller can do about a model's failure. Never `unauthenticated`: it is the server's key that was refused, not the caller's. */
const REFUSALS: Readonly<Record<LlmErrorCode, ErrorCode>> = {
  LLMAuthenticationError: 'bad_request',
  LLMBadRequestError: 'bad_request',
  LLMContextWindowExceedError: 'bad_request',
  LLMMalformedConversationHistoryError: 'bad_request',
  LLMContentPolicyViolationError: 'bad_request',
  LLMNotConfigured: 'bad_request',
  LLMRateLimitError: 'rate_limited',
  LLMServiceUnavailableError: 'unavailable',
  LLMTimeoutError: 'unavailable',
  LLMNoResponseError: 'unavailable',
  LLMError: 'unavailable',
}

/** A model's failure as a refusal with its reason; anything else as it is. */
export function refusalOf(error: unknown): unknown {
  if (!(error instanceof LlmError)) return error
  return new ParleyError(REFUSALS[error.code], error.message, { details: { code: error.code }, cause: error })
}

/** @throws ParleyError `unavailable` when the model had nothing to say. */
export function expectText(text: string): string {
  if (text !== '') return text
  throw new ParleyError('unavailable', 'The model gave no answer in words. Ask again, or in other words.')
}
