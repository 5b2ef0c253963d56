/** Images of a message for an ACP agent: its vendor refuses the same ones as others, and would refuse its whole session from then on. */
import { textContent, type ContentPart, type MessageEvent } from '@parley/protocol'
import { fittedImage, type ImageShrinker } from '../../../llm/index.ts'

/** Returns the message with images that vendors accept, and the reasons for those that a text replaces. */
export async function withFittingImages(
  message: MessageEvent,
  shrinker: ImageShrinker,
  signal: AbortSignal,
): Promise<{ message: MessageEvent; refusals: string[] }> {
  const refusals: string[] = []
  const content: ContentPart[] = []
  for (const part of message.llm_message.content) {
    if (part.type === 'text') {
      content.push(part)
      continue
    }
    const image_urls: string[] = []
    for (const url of part.image_urls) {
      const image = await fittedImage(url, shrinker, signal)
      if ('url' in image) image_urls.push(image.url)
      else {
        refusals.push(image.refusal)
        content.push(textContent(`[An image was left out: it ${image.refusal}]`))
      }
    }
    if (image_urls.length > 0) content.push({ ...part, image_urls })
  }
  return { message: { ...message, llm_message: { ...message.llm_message, content } }, refusals }
}
