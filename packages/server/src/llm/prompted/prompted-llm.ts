/**
 * Tool calls for a model without an API for them: the tools are described in the prompt, and calls are parsed from the
 * answer.
 * Text that cannot be parsed stays text; the tool itself reports invalid arguments. Source: agent-core.md 1.14; F45.
 */
import { randomUUID } from 'node:crypto'
import type { Llm, LlmAnswer, LlmDelta } from '../llm.ts'
import { OPENING, readCall } from './read.ts'
import { promptedMessages } from './write.ts'

/** Stop sequence: text after a call is not wanted. */
const STOP = '</function'

/** @param stops whether stop sequences may be sent */
export function promptedLlm(inner: Llm, stops: boolean): Llm {
  return {
    get model() {
      return inner.model
    },
    usageId: inner.usageId,
    async complete(request, onDelta, signal) {
      if (request.tools.length === 0) return inner.complete(request, onDelta, signal)
      const asked = {
        ...request,
        messages: promptedMessages(request.messages, request.tools, inner.model),
        tools: [],
        ...(stops ? { stop: [STOP] } : {}),
      }
      const answer = await inner.complete(asked, withoutCall(onDelta), signal)
      const { text, thought, call, end } = readCall(answer.text, request.tools)
      const reasoning = answer.reasoning ?? thought
      const said = { ...answer, text, reasoning, raw: withoutText(answer.raw) }
      if (call === null) return said
      // Ids made from the text would repeat from one answer to the next (F45).
      const id = `call_${randomUUID().replaceAll('-', '')}`
      // A stop sequence ends an answer before the end of its call, but never in a value, and never with another reason.
      const isCut = end === 'open' || (end === 'stopped' && answer.finishReason !== 'stop')
      const finishReason = answer.finishReason === 'stop' ? 'tool-calls' : answer.finishReason
      return { ...said, toolCalls: [{ id, ...call, ...(isCut ? { isCut } : {}) }], finishReason }
    },
  }
}

/** Leaves out the text as it came, which contains the call. */
const withoutText = (raw: LlmAnswer['raw']): LlmAnswer['raw'] =>
  raw === null ? null : { ...raw, parts: raw.parts.filter(({ type }) => type !== 'text') }

/** Passes on live text up to a call, or to characters that may begin one. */
function withoutCall(onDelta: (delta: LlmDelta) => void): (delta: LlmDelta) => void {
  let held = ''
  let isCalling = false
  return ({ content, ...delta }) => {
    if (content !== undefined && !isCalling) {
      held += content
      const at = held.indexOf(OPENING)
      isCalling = at !== -1
      const safe = isCalling ? at : held.length - beginningOf(OPENING, held)
      if (safe > 0) onDelta({ content: held.slice(0, safe) })
      held = held.slice(safe)
    }
    if (delta.reasoning_content !== undefined || delta.tool_call !== undefined) onDelta(delta)
  }
}

/** Number of characters at the end of `text` that `word` may begin with. */
function beginningOf(word: string, text: string): number {
  for (let length = Math.min(word.length - 1, text.length); length > 0; length--)
    if (text.endsWith(word.slice(0, length))) return length
  return 0
}
