import { textContent, type ImageContent, type TextContent } from '@parley/protocol'
import { checkedImage } from '../llm/index.ts'

/** Returns the image of a result with the media type of its content; a line that says why, where models cannot see it. */
export function shownImage(url: string): TextContent | ImageContent {
  const image = checkedImage(url)
  if ('refusal' in image) return textContent(`[An image was left out: it ${image.refusal}]`)
  return { type: 'image', image_urls: [image.url], cache_prompt: false }
}
