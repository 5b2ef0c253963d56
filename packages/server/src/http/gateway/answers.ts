/** Answers in the format of chat completions. */
import { randomUUID } from 'node:crypto'
import type { ChatCompletion, ConversationId } from '@parley/protocol'
import type { Answer } from '../core/errors.ts'

export const CONVERSATION_HEADER = 'x-openhands-serverconversation-id'

export type Spent = { prompt_tokens: number; completion_tokens: number }

type CompletionFacts = { id: ConversationId; model: string; text: string; spent: Spent; created: number }

/** The whole answer in one piece. */
export function completion({ id, model, text, spent, created }: CompletionFacts): Answer {
  const body: ChatCompletion = {
    id: `chatcmpl-${randomUUID()}`,
    object: 'chat.completion',
    created,
    model,
    choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
    usage: { ...spent, total_tokens: spent.prompt_tokens + spent.completion_tokens },
  }
  return { status: 200, body, headers: { [CONVERSATION_HEADER]: id } }
}

/** The answer as a stream: one chunk and the end. */
export function streamed({ id, model, text, created }: CompletionFacts): Answer {
  const chunk = {
    id: `chatcmpl-${randomUUID()}`,
    object: 'chat.completion.chunk',
    created,
    model,
    choices: [{ index: 0, delta: { role: 'assistant', content: text }, finish_reason: 'stop' }],
  }
  return {
    status: 200,
    body: `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`,
    headers: { [CONVERSATION_HEADER]: id, 'content-type': 'text/event-stream' },
  }
}
