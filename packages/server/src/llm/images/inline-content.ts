/** What a data URL holds, by its content. Pure. Source: docs/models.md, Images. */
import { ofBase64, plainBase64 } from './byte-source.ts'
import { factsOf, type ImageFacts } from './file-facts.ts'
import { refusalOf } from './refusals.ts'

/** `refusal`: without its subject. `address`: the image is elsewhere. */
export type InlineContent =
  | { kind: 'image'; data: string; bytes: number; facts: ImageFacts }
  | { kind: 'refused'; refusal: string }
  | { kind: 'address' }

const NO_ADDRESS = 'has an address that cannot be read. Give an http or https address, or a data URL with base64.'

/** Reads only the header, and the end. */
export function inlineContent(url: string): InlineContent {
  if (/^https?:/i.test(url) && URL.canParse(url)) return { kind: 'address' }
  const head = /^data:[^,]{0,200};base64,/i.exec(url.slice(0, 300))
  if (head === null) return { kind: 'refused', refusal: NO_ADDRESS }
  const data = plainBase64(url.slice(head[0].length))
  const source = ofBase64(data)
  const facts = factsOf(source)
  const refusal = refusalOf(facts, null)
  if (facts.kind === 'image' && refusal === null) return { kind: 'image', data, bytes: source.length, facts }
  return { kind: 'refused', refusal: refusal ?? NO_ADDRESS }
}

/** Returns the data URL of an image; the given one where it already is that. */
export function urlOf({ data, facts }: { data: string; facts: Pick<ImageFacts, 'type'> }, given = ''): string {
  const prefix = `data:${facts.type};base64,`
  return given.length === prefix.length + data.length && given.startsWith(prefix) ? given : prefix + data
}

/** Returns the image with the media type of its content, or the reason why models cannot see it, without its subject. */
export function checkedImage(url: string): { url: string } | { refusal: string } {
  const content = inlineContent(url)
  if (content.kind === 'refused') return content
  return { url: content.kind === 'address' ? url : urlOf(content, url) }
}
