/** Collects the stream of a provider library as live deltas and one answer. */
import type {
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
  SharedV4ProviderMetadata,
} from '@ai-sdk/provider'
import type { ReasoningItemModel } from '@parley/protocol'
import { LlmError, type LlmAnswer, type LlmDelta } from '../llm.ts'
import { geminiBlocks, type GeminiSignatures } from '../prompt/gemini-signature.ts'

export type Collected = Omit<LlmAnswer, 'responseId' | 'usage'> & {
  responseId: string | null
  tokens: LanguageModelV4Usage | null
}

type ThinkingBlocks = LlmAnswer['thinkingBlocks']
type Thought = { text: string; anthropic: Record<string, unknown>; openai: Record<string, unknown> }

/**
 * Reads a stream to its end.
 * @throws an error part of the stream; LlmError when the stream ends without a finish part.
 */
export async function collect(
  stream: ReadableStream<LanguageModelV4StreamPart>,
  onDelta: (delta: LlmDelta) => void,
): Promise<Collected> {
  const collector = new Collector(onDelta)
  const reader = stream.getReader()
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) collector.take(next.value)
    return collector.answer()
  } catch (error) {
    // Closes the connection when it is still open. A failure to close must not hide the first error.
    reader.cancel().catch(() => {})
    throw error
  }
}

class Collector {
  readonly #onDelta: (delta: LlmDelta) => void
  #responseId: string | null = null
  #text = ''
  #reasoning = ''
  #finish: LanguageModelV4FinishReason | null = null
  #tokens: LanguageModelV4Usage | null = null
  readonly #signatures: GeminiSignatures = { call: null, text: null, thought: null }
  readonly #thoughts = new Map<string, Thought>()
  /**
   * In the order in which the calls began, which is the order the model wrote them in; null while one is incomplete.
   */
  readonly #calls = new Map<string, LlmAnswer['toolCalls'][number] | null>()

  constructor(onDelta: (delta: LlmDelta) => void) {
    this.#onDelta = onDelta
  }

  take(part: LanguageModelV4StreamPart): void {
    switch (part.type) {
      case 'text-start':
        return this.#addSignature('text', part.providerMetadata)
      case 'text-delta':
        this.#addSignature('text', part.providerMetadata)
        if (part.delta === '') return
        this.#text += part.delta
        this.#onDelta({ content: part.delta })
        return
      case 'reasoning-start':
      case 'reasoning-delta':
      case 'reasoning-end':
        return this.#addThought(part.id, part.type === 'reasoning-delta' ? part.delta : '', part.providerMetadata)
      case 'text-end':
        return this.#addSignature('text', part.providerMetadata)
      case 'tool-input-start':
        this.#calls.set(part.id, null)
        return
      case 'tool-call':
        this.#calls.set(part.toolCallId, { id: part.toolCallId, name: part.toolName, arguments: part.input })
        return this.#addSignature('call', part.providerMetadata)
      case 'response-metadata':
        this.#responseId = part.id ?? this.#responseId
        return
      case 'finish':
        this.#finish = part.finishReason
        this.#tokens = part.usage
        return
      case 'error':
        throw part.error
      default:
    }
  }

  answer(): Collected {
    return {
      responseId: this.#responseId,
      text: this.#text,
      reasoning: this.#reasoning === '' ? null : this.#reasoning,
      thinkingBlocks: this.#thinkingBlocks(),
      reasoningItem: this.#reasoningItem(),
      toolCalls: [...this.#calls.values()].filter((call) => call !== null),
      finishReason: this.#finishReason(),
      tokens: this.#tokens,
    }
  }

  #addThought(id: string, delta: string, metadata: SharedV4ProviderMetadata | undefined): void {
    const thought = this.#thoughts.get(id) ?? { text: '', anthropic: {}, openai: {} }
    this.#thoughts.set(id, thought)
    Object.assign(thought.anthropic, metadata?.anthropic)
    Object.assign(thought.openai, metadata?.openai)
    this.#addSignature('thought', metadata)
    if (delta === '') return
    thought.text += delta
    this.#reasoning += delta
    this.#onDelta({ reasoning_content: delta })
  }

  /** Gemini requires the first signature of each kind of part. */
  #addSignature(kind: keyof GeminiSignatures, metadata: SharedV4ProviderMetadata | undefined): void {
    const signature = metadata?.google?.thoughtSignature
    if (typeof signature === 'string') this.#signatures[kind] ??= signature
  }

  #thinkingBlocks(): ThinkingBlocks {
    const blocks = [...this.#thoughts.values()].flatMap(({ text, anthropic }): ThinkingBlocks => {
      if (typeof anthropic.redactedData === 'string')
        return [{ type: 'redacted_thinking', data: anthropic.redactedData }]
      return typeof anthropic.signature === 'string'
        ? [{ type: 'thinking', thinking: text, signature: anthropic.signature }]
        : []
    })
    const answer = { text: this.#text, reasoning: this.#reasoning, hasCalls: this.#calls.size > 0 }
    return [...blocks, ...geminiBlocks(this.#signatures, answer)]
  }

  /** Returns the last item of the answer; each of its summaries arrives as a separate thought. */
  #reasoningItem(): ReasoningItemModel | null {
    const thoughts = [...this.#thoughts.values()].filter(({ openai }) => typeof openai.itemId === 'string')
    const last = thoughts.at(-1)?.openai
    if (last === undefined) return null
    const summary = thoughts
      .filter(({ openai, text }) => openai.itemId === last.itemId && text !== '')
      .map(({ text }) => text)
    const encrypted = last.reasoningEncryptedContent
    return {
      id: String(last.itemId),
      summary,
      content: null,
      encrypted_content: typeof encrypted === 'string' ? encrypted : null,
      status: null,
    }
  }

  #finishReason(): LlmAnswer['finishReason'] {
    const reason = this.#finish
    if (reason === null)
      throw new LlmError('LLMNoResponseError', 'the answer ended before it was complete', { retryable: true })
    switch (reason.unified) {
      case 'interrupted':
        throw new LlmError('LLMServiceUnavailableError', 'the connection ended in the middle of the answer', {
          retryable: true,
        })
      case 'error':
        throw new LlmError(
          'LLMServiceUnavailableError',
          `the model stopped with an error${reason.raw === undefined ? '' : ` (${reason.raw})`}`,
          { retryable: true },
        )
      default:
        return reason.unified
    }
  }
}
