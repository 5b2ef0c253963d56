/** Conversion of chat messages to the input of a conversation. Pure. Source: agent-server-wire.md 1.13. */
import { ParleyError, textContent, type ChatMessage, type ImageContent, type TextContent } from '@parley/protocol'

export type Content = (TextContent | ImageContent)[]

/** The new messages of the caller: everything after the last message of the agent. @throws ParleyError `bad_request` without one. */
export function newWords(messages: readonly ChatMessage[]): Content {
  const last = messages.findLastIndex(({ role }) => role === 'assistant')
  const added = messages.slice(last + 1).filter(({ role }) => role === 'user')
  const content = added.flatMap(contentOf)
  if (content.length === 0)
    throw new ParleyError('bad_request', 'The last message has to be one of role user, with a text or an image.')
  return content
}

/** The first message of a new conversation: the earlier messages precede the new ones. */
export function firstWords(messages: readonly ChatMessage[]): Content {
  const now = newWords(messages)
  const before = messages.slice(0, messages.findLastIndex(({ role }) => role === 'assistant') + 1)
  const turns = before
    .filter(({ role }) => role === 'user' || role === 'assistant')
    .map((message) => `${message.role}: ${textOf(message)}`)
  if (turns.length === 0) return now
  return [textContent(`Said before, in another conversation:\n\n${turns.join('\n\n')}\n\nSaid now:`), ...now]
}

/** The system messages of the caller; null without one. */
export function instructions(messages: readonly ChatMessage[]): string | null {
  const texts = messages.filter(({ role }) => role === 'system' || role === 'developer').map(textOf)
  const text = texts.filter((each) => each !== '').join('\n\n')
  return text === '' ? null : text
}

function contentOf({ content }: ChatMessage): Content {
  if (content === null) return []
  if (typeof content === 'string') return content === '' ? [] : [textContent(content)]
  return content.map((part) => {
    if (part.type === 'text' && typeof part['text'] === 'string') return textContent(part['text'])
    const image = part['image_url']
    const url = typeof image === 'object' && image !== null && 'url' in image ? image.url : image
    if (part.type === 'image_url' && typeof url === 'string')
      return { type: 'image', image_urls: [url], cache_prompt: false }
    throw new ParleyError('bad_request', `A part of type '${part.type}' cannot be taken. Send text or image_url.`)
  })
}

const textOf = (message: ChatMessage): string =>
  contentOf(message)
    .map((part) => (part.type === 'text' ? part.text : '[image]'))
    .join('\n')
