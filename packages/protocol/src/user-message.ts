import type { Draft } from './event.ts'
import type { ContentPart } from './events/message.ts'

type MessageDraft = Extract<Draft, { kind: 'MessageEvent' }>

/** Returns a message to or from a model that has only content. */
export function plainMessage(
  role: MessageDraft['llm_message']['role'],
  content: ContentPart[],
): MessageDraft['llm_message'] {
  return {
    role,
    content,
    tool_calls: null,
    tool_call_id: null,
    name: null,
    reasoning_content: null,
    thinking_blocks: [],
    responses_reasoning_item: null,
  }
}

/** Returns the draft of a user's message; also used for user messages of a recording. */
export function userMessage(content: ContentPart[]): MessageDraft {
  return {
    kind: 'MessageEvent',
    source: 'user',
    llm_message: plainMessage('user', content),
    llm_response_id: null,
    activated_skills: [],
    extended_content: [],
    sender: null,
    critic_result: null,
  }
}
