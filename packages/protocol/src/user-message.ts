import type { Draft } from './event.ts'
import type { ContentPart } from './events/message.ts'

/** What a person says, before it is stored; also when a recording says it for them. */
export function userMessage(content: ContentPart[]): Extract<Draft, { kind: 'MessageEvent' }> {
  return {
    kind: 'MessageEvent',
    source: 'user',
    llm_message: {
      role: 'user',
      content,
      tool_calls: null,
      tool_call_id: null,
      name: null,
      reasoning_content: null,
      thinking_blocks: [],
      responses_reasoning_item: null,
    },
    llm_response_id: null,
    activated_skills: [],
    extended_content: [],
    sender: null,
    critic_result: null,
  }
}
