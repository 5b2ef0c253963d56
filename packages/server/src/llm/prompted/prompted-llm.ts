/**
 * A model without calls of its own: it is told of the tools in words, and what it writes is read as a call. Source:
 * agent-core.md 1.14, F45. What cannot be read stays text; what is wrong with a call is the tool's to say.
 */
import { randomUUID } from 'node:crypto'
import type { Llm, LlmDelta } from '../llm.ts'
import { OPENING, readCall } from './read.ts'
import { promptedMessages } from './write.ts'

/** Where the model is to stop: what follows is not its own. */
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
      const { text, thought, call } = readCall(answer.text, request.tools)
      const reasoning = answer.reasoning ?? thought
      if (call === null) return { ...answer, text, reasoning }
      // Ids of the form's own would repeat from one answer to the next (F45).
      const id = `call_${randomUUID().replaceAll('-', '')}`
      return { ...answer, text, reasoning, toolCalls: [{ id, ...call }], finishReason: 'tool-calls' }
    },
  }
}

/** Live text up to where a call begins, or may begin. */
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
    if (delta.reasoning_content !== undefined) onDelta(delta)
  }
}

/** Characters at the end of `text` that `word` may begin with. */
function beginningOf(word: string, text: string): number {
  for (let length = Math.min(word.length - 1, text.length); length > 0; length--)
    if (text.endsWith(word.slice(0, length))) return length
  return 0
}
