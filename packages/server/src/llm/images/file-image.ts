/** A file, or a data URL, as an image for a model, made smaller where needed. */
import { extname } from 'node:path'
import { ofBytes } from './byte-source.ts'
import { factsOf, type OtherFile } from './file-facts.ts'
import { inlineContent, urlOf, type InlineContent } from './inline-content.ts'
import { SENT_BYTES, SENT_SIDE } from './limits.ts'
import { refusalOf, tooLarge } from './refusals.ts'
import type { ImageShrinker } from './shrinker.ts'

/** `size`: pixels of the file and of the image that is shown, where they differ. `refusal`: without its subject. */
export type FileImage =
  | { kind: 'image'; url: string; size: { from: string; to: string } | null }
  | { kind: 'refused'; refusal: string }

/** Names that promise an image. A drawing in SVG is a text that can be edited. */
const IMAGE_NAMES = /^\.(png|jpe?g|gif|webp|bmp|tiff?|hei[cf]|avif|ico|psd|jxl)$/i
const READABLE: ReadonlySet<OtherFile> = new Set(['empty', 'lfs-pointer', 'damaged', 'svg', 'html', 'text', 'unknown'])

export const hasImageName = (path: string): boolean => IMAGE_NAMES.test(extname(path))

/** Null for a file that is no image, neither by its content nor by its name. @param shrinker null: images are not made smaller */
export async function fileImage(
  path: string,
  bytes: Uint8Array,
  shrinker: ImageShrinker | null,
  signal: AbortSignal,
): Promise<FileImage | null> {
  const source = ofBytes(bytes)
  const facts = factsOf(source)
  if (facts.kind === 'other' && READABLE.has(facts.file) && !hasImageName(path)) return null
  const refusal = refusalOf(facts, path)
  if (facts.kind === 'other' || refusal !== null) return { kind: 'refused', refusal: refusal ?? '' }
  const data = source.read(0, source.length).toString('base64')
  const fitted = await shrunk({ kind: 'image', data, bytes: bytes.length, facts }, path, shrinker, signal)
  if (fitted.kind === 'refused') return fitted
  const isSame = fitted.width === facts.width && fitted.height === facts.height
  const size = isSame ? null : { from: `${facts.width} × ${facts.height}`, to: `${fitted.width} × ${fitted.height}` }
  return { kind: 'image', url: fitted.url, size }
}

/** Returns the image of a URL in a form that every vendor accepts, or the reason why there is none, without its subject. */
export async function fittedImage(
  url: string,
  shrinker: ImageShrinker,
  signal: AbortSignal,
): Promise<{ url: string } | { refusal: string }> {
  const content = inlineContent(url)
  if (content.kind === 'refused') return content
  if (content.kind === 'address') return { url }
  return shrunk(content, null, shrinker, signal)
}

type Inline = Extract<InlineContent, { kind: 'image' }>
type Shrunk = { kind: 'image'; url: string; width: number; height: number } | { kind: 'refused'; refusal: string }

async function shrunk(
  { data, bytes, facts }: Inline,
  path: string | null,
  shrinker: ImageShrinker | null,
  signal: AbortSignal,
): Promise<Shrunk> {
  const { width, height } = facts
  if (Math.max(width, height) <= SENT_SIDE && bytes <= SENT_BYTES)
    return { kind: 'image', url: urlOf({ data, facts }), width, height }
  const small = (await shrinker?.shrink(data, facts, signal)) ?? null
  if (small !== null)
    return { kind: 'image', url: urlOf({ data: small.data, facts: small }), width: small.width, height: small.height }
  return {
    kind: 'refused',
    refusal: tooLarge(facts, bytes, `${SENT_SIDE} pixels on a side or ${SENT_BYTES} bytes`, path),
  }
}
