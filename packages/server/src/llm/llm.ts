/**
 * The interface of a language model: messages in, a stream of parts out. Providers and their libraries stay in this
 * module.
 */
import type { LLM, MessageToolCall, RawAnswer, TokenUsage } from '@parley/protocol'

export type LlmText = { type: 'text'; text: string; cache?: boolean }
export type LlmImage = { type: 'image'; url: string }

export type LlmMessage =
  | { role: 'system'; content: LlmText[] }
  | { role: 'user'; content: (LlmText | LlmImage)[] }
  | {
      role: 'assistant'
      content: LlmText[]
      /** Raw argument text, as the model wrote it. */
      toolCalls: Pick<MessageToolCall, 'id' | 'name' | 'arguments'>[]
      reasoning?: string
      /** `LlmAnswer.raw` of the answer that this message stores. */
      raw?: RawAnswer
    }
  | { role: 'tool'; toolCallId: string; toolName: string; content: (LlmText | LlmImage)[]; isError: boolean }

export type LlmTool = {
  name: string
  description: string
  parameters: Record<string, unknown>
  /** Absent: calls are JSON for every model. */
  freeform?: Freeform
}

/** For models that call a tool with one text: the parameter that has it, its form as a Lark grammar, and a description beside the grammar. */
type Freeform = { parameter: string; grammar: string; description: string }

export type LlmRequest = {
  messages: readonly LlmMessage[]
  tools: readonly LlmTool[]
  /** Stable per conversation, so that providers can route to a warm prompt cache. */
  cacheKey?: string
  /** Stop sequences. */
  stop?: readonly string[]
  /** The answer before was cut off at its output limit: this one may be longer, where the model allows it. */
  afterCut?: CutAnswer
}

/** Tokens of an answer that was cut off, of its request with it, and of the window; 0 where unknown. */
export type CutAnswer = { answer: number; total: number; window: number }

/** Parts of the answer while it streams; the promise of `complete` resolves to the whole answer. */
export type LlmDelta = {
  content?: string
  reasoning_content?: string
  /** The call with this number, from 0, is being written: `chars` of its arguments have come. */
  tool_call?: { index: number; name: string; chars: number }
}

export type LlmAnswer = {
  /** The provider's id, or a generated one when the provider sent none. Never empty. */
  responseId: string
  text: string
  reasoning: string | null
  /** The answer as it came; null when text and calls are all of it. Calls that `toolCalls` does not have are not sent back. */
  raw: RawAnswer | null
  toolCalls: LlmCall[]
  finishReason: FinishReason
  usage: LlmUsage
}

/** A call as the model wrote it. `isCut`: its arguments ended before they were complete. */
export type LlmCall = { id: string; name: string; arguments: string; isCut?: true }

/**
 * Why an answer ended. `length`: at its output limit; `context-window`: the window was full before; `malformed-call`: the vendor could
 * not read a call of the model.
 */
export type FinishReason =
  | 'stop'
  | 'tool-calls'
  | 'length'
  | 'context-window'
  | 'content-filter'
  | 'malformed-call'
  | 'other'

export type LlmUsage = {
  tokens: Omit<TokenUsage, 'response_id'>
  /** US dollars; null when no price is known. */
  costUsd: number | null
  /** Seconds from the request to the last byte. */
  latency: number
}

/** Classes of failure that a run distinguishes; also the `code` of a ConversationErrorEvent. */
export type LlmErrorCode =
  | 'LLMAuthenticationError'
  | 'LLMRateLimitError'
  | 'LLMBadRequestError'
  /** The server knows no such model or address. */
  | 'NotFoundError'
  | 'LLMContextWindowExceedError'
  | 'LLMMalformedConversationHistoryError'
  | 'LLMContentPolicyViolationError'
  | 'LLMRefusalError'
  | 'LLMOutputLimitError'
  | 'LLMMalformedCallError'
  | 'LLMServiceUnavailableError'
  | 'LLMTimeoutError'
  | 'LLMNotConfigured'
  | 'LLMPriceUnknown'
  | 'LLMNoResponseError'
  | 'LLMError'

/**
 * Failures that the next attempt may not have; they say nothing about the configuration. Source: agent-core.md 10.5.
 */
export const TEMPORARY_FAILURES: ReadonlySet<LlmErrorCode> = new Set([
  'LLMRateLimitError',
  'LLMTimeoutError',
  'LLMServiceUnavailableError',
  'LLMNoResponseError',
])

/** A part of a request that the server refuses, whatever else the request holds. */
export type RefusedPart = {
  part: 'image' | 'reasoning' | 'tool'
  /** `imageMark`, `reasoningMark` or the names of tools; empty when the server does not say which. */
  marks: readonly string[]
  /** Number of images that the server accepts. */
  keeps?: number
  /** Reasons by mark, where images have different ones. */
  reasons?: ReadonlyMap<string, string>
}

export class LlmError extends Error {
  readonly code: LlmErrorCode
  readonly retryable: boolean
  readonly refused: RefusedPart | null
  constructor(
    code: LlmErrorCode,
    message: string,
    options: { retryable?: boolean; cause?: unknown; refused?: RefusedPart | null } = {},
  ) {
    super(message, { cause: options.cause })
    this.name = 'LlmError'
    this.code = code
    this.retryable = options.retryable ?? false
    this.refused = options.refused ?? null
  }
}

export interface Llm {
  readonly model: string
  readonly usageId: string
  /**
   * Requests one completion, with retries (`num_retries`, back-off with jitter, `Retry-After`; can be aborted).
   * `onDelta` is called while the answer streams, only when the configuration has `stream`.
   * @throws LlmError after the last retry; the signal's reason when aborted.
   */
  complete(request: LlmRequest, onDelta: (delta: LlmDelta) => void, signal: AbortSignal): Promise<LlmAnswer>
}

/** Opens the model of a configuration. The library of its provider is imported when it is first needed. */
export type OpenLlm = (config: LLM) => Llm
