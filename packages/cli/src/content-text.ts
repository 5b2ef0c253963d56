import type { ContentPart } from '@parley/protocol'

/** Text of the parts of a message; an image is named. */
export function contentText(content: readonly ContentPart[]): string {
  return content.map((part) => (part.type === 'image' ? `[${part.image_urls.length} image(s)]` : part.text)).join('\n')
}
