/** Images as parts of a provider library's prompt. Pure. Source: agent-core.md 10.10. */
import type { LanguageModelV4FilePart } from '@ai-sdk/provider'
import type { LlmImage } from '../llm.ts'

/** A data URL is sent inline, an http address as an address; null when it is neither. */
export function filePart({ url }: LlmImage): LanguageModelV4FilePart | null {
  const inline = /^data:(image\/[\w.+-]+)(?:;[^;,]+)*;base64,/i.exec(url.slice(0, 300))
  if (inline) return { type: 'file', mediaType: inline[1]!, data: { type: 'data', data: url.slice(inline[0].length) } }
  if (!/^https?:/i.test(url) || !URL.canParse(url)) return null
  return { type: 'file', mediaType: typeByName(new URL(url)), data: { type: 'url', url: new URL(url) } }
}

/** Gemini needs the media type of an address. */
function typeByName({ pathname }: URL): string {
  const extension = /\.(png|gif|webp)$/i.exec(pathname)?.[1]
  return extension === undefined ? 'image/jpeg' : `image/${extension.toLowerCase()}`
}
