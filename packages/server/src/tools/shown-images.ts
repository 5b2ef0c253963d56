import { textContent, type ImageContent, type TextContent } from '@parley/protocol'
import { TimeSlices } from '../lib/index.ts'
import { checkedImage } from '../llm/index.ts'

/** Returns the content of a result, its images with the media type of their content; a line says why models cannot see an image. */
export async function shownImages(
  content: readonly (TextContent | ImageContent)[],
): Promise<(TextContent | ImageContent)[]> {
  const slices = new TimeSlices()
  const shown: (TextContent | ImageContent)[] = []
  for (const part of content) {
    if (part.type === 'text') shown.push(part)
    else
      for (const url of part.image_urls) {
        await slices.next()
        const image = checkedImage(url)
        if ('url' in image) shown.push({ ...part, image_urls: [image.url] })
        else shown.push(textContent(`[An image was left out: it ${image.refusal}]`))
      }
  }
  return shown
}
