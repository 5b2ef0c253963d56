import type { ContentPart, StoredEvent } from '@parley/protocol'

/** Approximate size of an event on the wire in bytes, without serialising it: the length of its longest texts. */
export function weight({ event }: StoredEvent): number {
  switch (event.kind) {
    case 'ObservationEvent':
      return 512 + event.observation.content.reduce((sum, part) => sum + textLength(part), 0)
    case 'ActionEvent':
      return 512 + event.tool_call.arguments.length * 2
    case 'MessageEvent':
      return 512 + event.llm_message.content.reduce((sum, part) => sum + textLength(part), 0)
    case 'SystemPromptEvent':
      return 32 * 1024
    default:
      return 1024
  }
}

function textLength(part: ContentPart): number {
  if (part.type === 'text') return part.text.length
  return part.image_urls.reduce((sum, url) => sum + url.length, 0)
}
