import { parseConversationId, type ConversationId } from '@parley/protocol'
import { UsageError } from './args.ts'

/** @throws UsageError when the word is not a conversation id. */
export function conversationIdOf(word: string): ConversationId {
  const id = parseConversationId(word)
  if (id === null)
    throw new UsageError(`"${word}" is no id of a conversation; ids look like 0b8f1c9e-3c1a-4f1e-9d51-2f4f7f1f2a77`)
  return id
}
