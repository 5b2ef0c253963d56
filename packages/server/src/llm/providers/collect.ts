/** Collects the stream of a provider library as live deltas and one answer. */
import type { LanguageModelV4FinishReason, LanguageModelV4StreamPart, LanguageModelV4Usage } from '@ai-sdk/provider'
import type { RawAnswer } from '@parley/protocol'
import { LlmError, type LlmAnswer, type LlmDelta } from '../llm.ts'
import { chatReasoningIn, type ChatReasoning } from './chat-reasoning.ts'
import { finishReasonOf } from './finish-reason.ts'
import { metadataOf, PartsCollector } from './parts-collector.ts'

export type Collected = Omit<LlmAnswer, 'responseId' | 'usage' | 'raw'> & {
  responseId: string | null
  tokens: LanguageModelV4Usage | null
  raw: Omit<RawAnswer, 'origin'> | null
}

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

/** Characters of arguments between two reports of their length. */
const CALL_STEP = 128

class Collector {
  readonly #onDelta: (delta: LlmDelta) => void
  readonly #parts = new PartsCollector()
  readonly #calls = new Map<string, { index: number; name: string; chars: number; shown: number }>()
  #chat: ChatReasoning = {}
  #responseId: string | null = null
  #finish: LanguageModelV4FinishReason | null = null
  #tokens: LanguageModelV4Usage | null = null

  constructor(onDelta: (delta: LlmDelta) => void) {
    this.#onDelta = onDelta
  }

  take(part: LanguageModelV4StreamPart): void {
    switch (part.type) {
      case 'text-start':
      case 'text-delta':
      case 'text-end':
      case 'reasoning-start':
      case 'reasoning-delta':
      case 'reasoning-end':
        return this.#say(part)
      case 'tool-input-start':
        this.#beginCall(part.id, part.toolName)
        return this.#parts.beginCall(part.id, part.toolName)
      case 'tool-input-delta':
        return this.#writeCall(part.id, part.delta)
      case 'tool-call': {
        const call = { id: part.toolCallId, name: part.toolName, arguments: part.input }
        return this.#parts.endCall(call, metadataOf(part.providerMetadata))
      }
      case 'response-metadata':
        this.#responseId = part.id ?? this.#responseId
        return
      case 'finish':
        this.#finish = part.finishReason
        this.#tokens = part.usage
        this.#chat = chatReasoningIn(part.providerMetadata)
        return
      case 'error':
        throw part.error
      default:
    }
  }

  answer(): Collected {
    return {
      responseId: this.#responseId,
      text: this.#parts.text(),
      reasoning: this.#parts.reasoning(),
      toolCalls: this.#parts.calls(),
      finishReason: this.#finishReason(),
      tokens: this.#tokens,
      raw: this.#parts.raw(this.#chat),
    }
  }

  #beginCall(id: string, name: string): void {
    const call = { index: this.#calls.size, name, chars: 0, shown: 0 }
    this.#calls.set(id, call)
    this.#onDelta({ tool_call: { index: call.index, name, chars: 0 } })
  }

  /** Not every piece is passed on: an argument of a large file comes in thousands. */
  #writeCall(id: string, piece: string): void {
    const call = this.#calls.get(id)
    if (call === undefined) return
    call.chars += piece.length
    if (call.chars - call.shown < CALL_STEP) return
    call.shown = call.chars
    const { index, name, chars } = call
    this.#onDelta({ tool_call: { index, name, chars } })
  }

  #say(
    part: Extract<LanguageModelV4StreamPart, { type: `${'text' | 'reasoning'}-${'start' | 'delta' | 'end'}` }>,
  ): void {
    const [type, event] = part.type.split('-') as ['text' | 'reasoning', 'start' | 'delta' | 'end']
    const delta = part.type === 'text-delta' || part.type === 'reasoning-delta' ? part.delta : ''
    this.#parts.say(type, event, part.id, delta, metadataOf(part.providerMetadata))
    if (delta !== '') this.#onDelta(type === 'text' ? { content: delta } : { reasoning_content: delta })
  }

  #finishReason(): LlmAnswer['finishReason'] {
    if (this.#finish !== null) return finishReasonOf(this.#finish)
    throw new LlmError('LLMNoResponseError', 'the answer ended before it was complete', { retryable: true })
  }
}
