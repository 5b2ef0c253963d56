import { APICallError } from '@ai-sdk/provider'
import { expect, test } from 'vitest'
import { retryAfterSeconds, toLlmError } from './errors.ts'
import type { LlmErrorCode } from '../llm.ts'

const CONTEXT = { model: 'm', hide: (text: string) => text, hasKey: true, baseUrl: null }
const call = (
  statusCode: number | undefined,
  message: string,
  more: { responseBody?: string; responseHeaders?: Record<string, string> } = {},
) =>
  new APICallError({
    message,
    url: 'http://model',
    requestBodyValues: {},
    ...(statusCode === undefined ? {} : { statusCode }),
    ...more,
  })
const coded = (code: string) => Object.assign(new Error(`connect ${code}`), { code })

test.each<[unknown, LlmErrorCode, boolean]>([
  [
    call(
      400,
      "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096, exceeds the model's context",
    ),
    'LLMContextWindowExceedError',
    false,
  ],
  [call(400, 'This endpoint has a maximum context length of 131072 tokens'), 'LLMContextWindowExceedError', false],
  [
    call(400, 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).'),
    'LLMContextWindowExceedError',
    false,
  ],
  [
    call(400, 'bad', { responseBody: '{"error":{"code":"context_length_exceeded"}}' }),
    'LLMContextWindowExceedError',
    false,
  ],
  [call(413, 'Request too large'), 'LLMContextWindowExceedError', false],
  [
    call(
      400,
      "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'",
    ),
    'LLMMalformedConversationHistoryError',
    false,
  ],
  [call(400, 'No tool output found for function call call_1.'), 'LLMMalformedConversationHistoryError', false],
  [
    call(400, 'Please ensure that the number of function response parts is equal to the number of function call parts'),
    'LLMMalformedConversationHistoryError',
    false,
  ],
  [call(400, 'API key not valid. Please pass a valid API key.'), 'LLMAuthenticationError', false],
  [
    call(429, 'You exceeded your current quota, please check your plan and billing details', {
      responseBody: '{"error":{"code":"insufficient_quota"}}',
    }),
    'LLMRateLimitError',
    false,
  ],
  [call(429, 'Rate limit reached: 30000 input tokens per minute'), 'LLMRateLimitError', true],
  [call(529, 'Overloaded'), 'LLMServiceUnavailableError', true],
  [call(404, 'no such model'), 'LLMBadRequestError', false],
  [call(undefined, 'Cannot connect to API: connect ECONNREFUSED 127.0.0.1:1'), 'LLMServiceUnavailableError', true],
  [coded('ENOTFOUND'), 'LLMServiceUnavailableError', true],
  [coded('ETIMEDOUT'), 'LLMTimeoutError', true],
  [{ type: 'overloaded_error', message: 'Overloaded' }, 'LLMServiceUnavailableError', true],
  [{ message: 'Rate limit reached', code: 'rate_limit_exceeded' }, 'LLMRateLimitError', true],
  [{ message: 'prompt is too long: 5 > 4', type: 'invalid_request_error' }, 'LLMContextWindowExceedError', false],
  [{ message: 'upstream said no', code: 502 }, 'LLMServiceUnavailableError', true],
  ['a plain string', 'LLMError', false],
  [new Error('who knows'), 'LLMError', false],
])('the provider error %o becomes %s, retryable: %s', (error, code, retryable) => {
  expect(toLlmError(error, CONTEXT)).toMatchObject({ code, retryable })
})

test('a 404 names the missing version in the base URL', () => {
  const error = toLlmError(call(404, 'Not Found'), { ...CONTEXT, baseUrl: 'http://127.0.0.1:8000' })
  expect(error.message).toContain('/v1')
})

test.each<[Record<string, string>, string, number | null]>([
  [{ 'retry-after': '7' }, '', 7],
  [{ 'retry-after': '0.5' }, '', 0.5],
  [{ 'retry-after-ms': '1500', 'retry-after': '9' }, '', 1.5],
  [{ 'retry-after': 'Thu, 01 Jan 1970 00:01:00 GMT' }, '', 50],
  [{ 'retry-after': 'Thu, 01 Jan 1970 00:00:01 GMT' }, '', 0],
  [{ 'retry-after': 'soon' }, '', null],
  [{}, '{"error":{"details":[{"retryDelay": "34.5s"}]}}', 34.5],
  [{}, '', null],
])('headers %o and body %s ask for a wait of %s s', (responseHeaders, responseBody, seconds) => {
  expect(retryAfterSeconds(call(429, 'slow', { responseHeaders, responseBody }), 10_000)).toBe(seconds)
})
