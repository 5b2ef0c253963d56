import type { LlmMessage } from '../../llm/index.ts'

/** Returns the messages with a text of the user at their end; no user message follows another. */
export function withUserText(messages: readonly LlmMessage[], text: string): LlmMessage[] {
  const last = messages.at(-1)
  const part = { type: 'text' as const, text }
  if (last?.role !== 'user') return [...messages, { role: 'user', content: [part] }]
  return [...messages.slice(0, -1), { role: 'user', content: [...last.content, part] }]
}
