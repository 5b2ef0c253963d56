/** Failures of a model as errors of the call that asked it. */
import { ParleyError, type ErrorCode } from '@parley/protocol'
import { LlmError, type LlmErrorCode } from '../../llm/index.ts'

/** The error code for each model error. Never `unauthenticated`: the model refused the server's key, not the caller's. */
const REFUSALS: Readonly<Record<LlmErrorCode, ErrorCode>> = {
  LLMAuthenticationError: 'bad_request',
  LLMBadRequestError: 'bad_request',
  NotFoundError: 'bad_request',
  LLMContextWindowExceedError: 'bad_request',
  LLMMalformedConversationHistoryError: 'bad_request',
  LLMContentPolicyViolationError: 'bad_request',
  LLMRefusalError: 'bad_request',
  LLMOutputLimitError: 'bad_request',
  LLMMalformedCallError: 'unavailable',
  LLMNotConfigured: 'bad_request',
  LLMPriceUnknown: 'bad_request',
  LLMRateLimitError: 'rate_limited',
  LLMServiceUnavailableError: 'unavailable',
  LLMTimeoutError: 'unavailable',
  LLMNoResponseError: 'unavailable',
  LLMError: 'unavailable',
}

/** Converts a model's failure to an error with its reason; returns any other error unchanged. */
export function refusalOf(error: unknown): unknown {
  if (!(error instanceof LlmError)) return error
  return new ParleyError(REFUSALS[error.code], error.message, { details: { code: error.code }, cause: error })
}

/** @throws ParleyError `unavailable` when the model returned no text. */
export function expectText(text: string): string {
  if (text !== '') return text
  throw new ParleyError('unavailable', 'The model gave no answer in words. Ask again, or in other words.')
}
