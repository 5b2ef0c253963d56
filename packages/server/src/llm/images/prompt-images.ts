/** Images as parts of a provider library's prompt. Pure. Source: agent-core.md 10.10. */
import type { LanguageModelV4FilePart, LanguageModelV4TextPart } from '@ai-sdk/provider'
import { imageSize } from './image-size.ts'
import type { LlmImage } from '../llm.ts'

export type ImageOptions = {
  /** Images with more pixels on a side are left out. Default: no limit. */
  maxPixels?: number | null
}

/** Returns the image, or a note in its place when it would make every request fail. */
export function imagePart(
  image: LlmImage,
  { maxPixels }: ImageOptions,
): LanguageModelV4FilePart | LanguageModelV4TextPart {
  const tooLarge = excess(image, maxPixels)
  if (tooLarge !== null) return { type: 'text', text: tooLarge }
  return filePart(image) ?? { type: 'text', text: '[An image was here whose address cannot be read.]' }
}

/** Returns a note that replaces an image with too many pixels; null when the image may be sent. */
export function excess(image: LlmImage, maxPixels: number | null | undefined): string | null {
  const size = maxPixels === null || maxPixels === undefined ? null : imageSize(image)
  if (size === null || Math.max(size.width, size.height) <= maxPixels!) return null
  return `[An image of ${size.width} × ${size.height} pixels was left out; up to ${maxPixels} on a side can be shown. Make it smaller to see it.]`
}

/** A data URL is sent inline, an http address as an address; null when it is neither. */
export function filePart({ url }: LlmImage): LanguageModelV4FilePart | null {
  const inline = /^data:(image\/[\w.+-]+)(?:;[^;,]+)*;base64,/i.exec(url)
  if (inline) return { type: 'file', mediaType: inline[1]!, data: { type: 'data', data: url.slice(inline[0].length) } }
  if (!/^https?:/i.test(url) || !URL.canParse(url)) return null
  return { type: 'file', mediaType: typeByName(new URL(url)), data: { type: 'url', url: new URL(url) } }
}

/** Gemini needs the media type of an address. */
function typeByName({ pathname }: URL): string {
  const extension = /\.(png|gif|webp)$/i.exec(pathname)?.[1]
  return extension === undefined ? 'image/jpeg' : `image/${extension.toLowerCase()}`
}
