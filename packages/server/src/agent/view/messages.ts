/**
 * Converts a view to messages for a model. Source: agent-core.md 2.5, 1.13.
 *
 * Invariants
 *   M1. The calls of one response are one assistant message, directly followed by their results.
 *   M2. Every call in a message has exactly one result; every result has its call.
 *   M3. No message is empty, and no user message directly follows another.
 *   M4. While a view only grows, each event is converted once; messages returned earlier never change.
 *   M5. Parts that are left out are in no message.
 */
import type { ActionEvent, CondensationSummaryEvent, LeftOut, RawAnswer, TreeEvent } from '@parley/protocol'
import type { LlmImage, LlmMessage, LlmText } from '../../llm/index.ts'
import { givenBackText } from './given-back-text.ts'
import { leftOutByEvent, withoutLeftOut } from './left-out.ts'
import { isCallResult, type CallResult } from './pairing.ts'
import { NO_SHELL, renderContent, renderResult, shellAfter, type Shell } from './render.ts'
import { rawOfOlder } from './thoughts.ts'

type Assistant = Extract<LlmMessage, { role: 'assistant' }>
type ToolMessage = Extract<LlmMessage, { role: 'tool' }>

type Piece =
  | { kind: 'plain'; message: Exclude<LlmMessage, ToolMessage> }
  | { kind: 'call'; callId: string; responseId: string; message: Assistant }
  | { kind: 'result'; callId: string; message: ToolMessage }
  | { kind: 'nothing' }

/** Marks a summary, so that the model does not take it for a message of the person. */
const SUMMARY_HEAD =
  '[The earlier part of this conversation was taken out to make room. This summary of it was written for you to go on with:]\n\n'

/** Converts the views of one conversation. */
export class MessageBuilder {
  #taken: TreeEvent[] = []
  #assembly = new Assembly()
  #shell = NO_SHELL
  #leftOut = 0

  /** Returns the messages of a view. Calls without a result get a placeholder. @param leftOut grows only */
  build(view: readonly TreeEvent[], leftOut: readonly LeftOut[] = []): LlmMessage[] {
    // After a condensation, a switch of the branch or a refusal all events are converted again.
    const isGrown = this.#taken.length <= view.length && this.#taken.every((event, index) => event === view[index])
    if (!isGrown || leftOut.length !== this.#leftOut) this.forget()
    this.#leftOut = leftOut.length
    const index = leftOutByEvent(leftOut)
    for (const event of view.slice(this.#taken.length)) {
      this.#assembly.add(convert(withoutLeftOut(event, index), this.#shell))
      this.#shell = shellAfter(event, this.#shell)
      this.#taken.push(event)
    }
    return this.#assembly.messages()
  }

  /** Drops what was converted. */
  forget(): void {
    this.#taken = []
    this.#assembly = new Assembly()
    this.#shell = NO_SHELL
  }
}

/** The message of a single event; null when the model does not see it. */
export function messageOf(event: TreeEvent): LlmMessage | null {
  const piece = convert(event)
  return piece.kind === 'nothing' ? null : piece.message
}

type Batch = { responseId: string; index: number; message: Assistant; waiting: ReadonlyMap<string, string> }

class Assembly {
  #messages: LlmMessage[] = []
  /** The newest message with calls, its index, and those of its calls that wait. */
  #batch: Batch | null = null
  /** Messages that arrived while calls were waiting; they follow the results (M1). */
  #deferred: Exclude<LlmMessage, ToolMessage>[] = []

  add(piece: Piece): void {
    switch (piece.kind) {
      case 'nothing':
        return
      case 'plain':
        if (this.#isWaiting()) this.#deferred.push(piece.message)
        else this.#put(piece.message)
        return
      case 'call':
        return this.#call(piece)
      case 'result':
        return this.#result(piece)
    }
  }

  /** The messages so far, with placeholders for missing results. */
  messages(): LlmMessage[] {
    const copy = new Assembly()
    copy.#messages = [...this.#messages]
    copy.#batch = this.#batch
    copy.#deferred = [...this.#deferred]
    copy.#close()
    return copy.#messages
  }

  #call({ callId, responseId, message }: Extract<Piece, { kind: 'call' }>): void {
    const batch = this.#batch
    const name = message.toolCalls[0]?.name ?? ''
    if (batch?.responseId === responseId && !batch.waiting.has(callId)) {
      const grown = { ...batch.message, toolCalls: [...batch.message.toolCalls, ...message.toolCalls] }
      this.#messages[batch.index] = grown
      this.#batch = { ...batch, message: grown, waiting: new Map([...batch.waiting, [callId, name]]) }
      return
    }
    this.#close()
    this.#batch = { responseId, index: this.#messages.length, message, waiting: new Map([[callId, name]]) }
    this.#messages.push(message)
  }

  #result({ callId, message }: Extract<Piece, { kind: 'result' }>): void {
    const batch = this.#batch
    if (batch === null || !batch.waiting.has(callId)) return
    this.#messages.push(message)
    this.#batch = { ...batch, waiting: new Map([...batch.waiting].filter(([id]) => id !== callId)) }
    if (!this.#isWaiting()) this.#flush()
  }

  #put(message: LlmMessage): void {
    // The first message outside of a batch ends it.
    this.#batch = null
    const last = this.#messages.at(-1)
    if (message.role === 'user' && last?.role === 'user') {
      this.#messages[this.#messages.length - 1] = { role: 'user', content: [...last.content, ...message.content] }
    } else {
      this.#messages.push(message)
    }
  }

  #isWaiting(): boolean {
    return this.#batch !== null && this.#batch.waiting.size > 0
  }

  #close(): void {
    for (const [toolCallId, toolName] of this.#batch?.waiting ?? []) {
      const content: LlmText[] = [{ type: 'text', text: '[This call has no result yet.]' }]
      this.#messages.push({ role: 'tool', toolCallId, toolName, content, isError: false })
    }
    this.#batch = null
    this.#flush()
  }

  #flush(): void {
    for (const message of this.#deferred.splice(0)) this.#put(message)
  }
}

function convert(event: TreeEvent, shell = NO_SHELL): Piece {
  if (isCallResult(event)) return resultPiece(event, shell)
  switch (event.kind) {
    case 'SystemPromptEvent': {
      // Only the part that all conversations of an agent share is marked for the provider's cache. Source: agent-core.md 9.1.
      const content: LlmText[] = [{ type: 'text', text: event.system_prompt.text, cache: true }]
      if (event.dynamic_context !== null) content.push({ type: 'text', text: event.dynamic_context.text })
      return { kind: 'plain', message: { role: 'system', content } }
    }
    case 'MessageEvent': {
      const { role, content } = event.llm_message
      const parts = renderContent([...content, ...event.extended_content])
      if (role !== 'assistant') return user(parts)
      const texts = parts.filter((item) => item.type === 'text')
      if (texts.length === 0) return { kind: 'nothing' }
      return { kind: 'plain', message: assistant(texts, event.llm_message, event.raw_answer, null) }
    }
    case 'CondensationSummaryEvent':
      return user(summaryParts(event))
    case 'ActionEvent':
      return callPiece(event)
    default:
      return { kind: 'nothing' }
  }
}

function summaryParts({ summary, given_back }: CondensationSummaryEvent): LlmText[] {
  const given = given_back === undefined ? '' : givenBackText(given_back)
  const texts = [summary.trim() === '' ? '' : SUMMARY_HEAD + summary, given].filter((text) => text !== '')
  return texts.length === 0 ? [] : [{ type: 'text', text: texts.join('\n\n') }]
}

function user(content: (LlmText | LlmImage)[]): Piece {
  return content.length === 0 ? { kind: 'nothing' } : { kind: 'plain', message: { role: 'user', content } }
}

function callPiece(event: ActionEvent): Piece {
  const { id, name, arguments: args } = event.tool_call
  const texts = renderContent(event.thought).filter((item) => item.type === 'text')
  const message = assistant(texts, event, event.raw_answer, id)
  message.toolCalls.push({ id, name, arguments: args })
  return { kind: 'call', callId: event.tool_call_id, responseId: event.llm_response_id, message }
}

function resultPiece(event: CallResult, shell: Shell): Piece {
  const { tool_call_id: toolCallId, tool_name: toolName } = event
  const message: ToolMessage = { role: 'tool', toolCallId, toolName, ...renderResult(event, shell) }
  return { kind: 'result', callId: toolCallId, message }
}

/** An answer of a model, with its form as it came where it is known. @param callId of its first call; null without one */
function assistant(
  content: LlmText[],
  thoughts: Pick<ActionEvent, 'reasoning_content' | 'thinking_blocks' | 'responses_reasoning_item'>,
  stored: RawAnswer | undefined,
  callId: string | null,
): Assistant {
  const raw = stored ?? rawOfOlder(thoughts, callId)
  return {
    role: 'assistant',
    content,
    toolCalls: [],
    ...(thoughts.reasoning_content === null ? {} : { reasoning: thoughts.reasoning_content }),
    ...(raw === null ? {} : { raw }),
  }
}
