import { APICallError } from '@ai-sdk/provider'
import { LLM } from '@parley/protocol'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { openTestLlm } from '../../../testing/requests.ts'
import { retryAfterSeconds, toFailure, toLlmError } from './errors.ts'
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
  [call(413, 'Payload Too Large', { responseBody: '<html>' }), 'LLMContextWindowExceedError', false],
  [
    call(413, 'bad', {
      responseBody: '{"type":"error","error":{"type":"request_too_large","message":"too many bytes"}}',
    }),
    'LLMContextWindowExceedError',
    false,
  ],
  [call(400, 'input length and `max_tokens` exceed context limit: 9 + 4 > 10'), 'LLMContextWindowExceedError', false],
  // Ollama: https://github.com/ollama/ollama/issues/2208 and https://github.com/nano-step/nano-brain/issues/208
  [call(500, 'input length exceeds context length'), 'LLMContextWindowExceedError', false],
  [call(400, 'the input length exceeds the context length'), 'LLMContextWindowExceedError', false],
  // llama.cpp: https://github.com/ggml-org/llama.cpp/issues/19774 and https://github.com/ggml-org/llama.cpp/pull/15780
  [call(500, 'Context size has been exceeded.'), 'LLMContextWindowExceedError', false],
  [call(400, 'request (9 tokens) exceeds the available context size (8 tokens)'), 'LLMContextWindowExceedError', false],
  [
    call(500, 'x', { responseBody: '{"error":{"type":"exceed_context_size_error"}}' }),
    'LLMContextWindowExceedError',
    false,
  ],
  // LM Studio: https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/546 and https://github.com/anomalyco/opencode/issues/11141
  [call(400, 'Trying to keep the first 9 tokens when context the overflows.'), 'LLMContextWindowExceedError', false],
  [call(400, 'Cannot truncate prompt with n_keep (9) >= n_ctx (8)'), 'LLMContextWindowExceedError', false],
  // vLLM: https://github.com/Gabesarch/grounded-rl/issues/16 and https://github.com/vllm-project/vllm/issues/12165
  [
    call(400, 'The decoder prompt (length 9) is longer than the maximum model length of 8.'),
    'LLMContextWindowExceedError',
    false,
  ],
  [
    call(400, 'The prompt (total length 9) is too long to fit into the model (context length 8).'),
    'LLMContextWindowExceedError',
    false,
  ],
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
  [call(404, 'no such model'), 'NotFoundError', false],
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

test.each(['http://127.0.0.1:11434/v1', 'http://localhost:1234/v1', 'http://[::1]:8000/v1'])(
  'a refused connection to %s is retried once, and its error names the address',
  (baseUrl) => {
    const failure = toFailure(coded('ECONNREFUSED'), { ...CONTEXT, baseUrl }, 0)
    expect(failure).toMatchObject({ mostRetries: 1, error: { code: 'LLMServiceUnavailableError', retryable: true } })
    expect(failure.error.message).toBe(`m: connection refused by ${baseUrl}; is the server of the model running?`)
  },
)

test('a model whose server does not run ends with an error that names the address', async () => {
  const listener = createServer().listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const { port } = listener.address() as AddressInfo
  listener.close()
  const llm = openTestLlm(LLM.parse({ model: 'ollama/qwen3', base_url: `http://127.0.0.1:${port}`, num_retries: 0 }))
  const answer = llm.complete({ messages: [], tools: [] }, () => {}, new AbortController().signal)
  await expect(answer).rejects.toThrow(
    `ollama/qwen3: connection refused by http://127.0.0.1:${port}/v1; is the server of the model running?`,
  )
})

test('a refused connection to another machine is retried like other failures', () => {
  const failure = toFailure(coded('ECONNREFUSED'), { ...CONTEXT, baseUrl: 'https://llm.example.com/v1' }, 0)
  expect(failure).toEqual({ error: expect.anything(), retryAfter: null })
  expect(failure.error.message).toBe('m: connection refused by https://llm.example.com/v1')
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
