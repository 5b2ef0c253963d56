/** A file as an image for a model, made smaller where needed. */
import { extname } from 'node:path'
import { ofBytes } from './byte-source.ts'
import { factsOf, type OtherFile } from './file-facts.ts'
import { urlOf } from './inline-content.ts'
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
  const { width, height } = facts
  if (Math.max(width, height) <= SENT_SIDE && bytes.length <= SENT_BYTES)
    return { kind: 'image', url: urlOf({ data, facts }), size: null }
  const small = (await shrinker?.shrink(data, facts, signal)) ?? null
  if (small === null)
    return {
      kind: 'refused',
      refusal: tooLarge(facts, bytes.length, `${SENT_SIDE} pixels on a side or ${SENT_BYTES} bytes`, path),
    }
  const isSame = small.width === width && small.height === height
  const size = isSame ? null : { from: `${width} × ${height}`, to: `${small.width} × ${small.height}` }
  return { kind: 'image', url: urlOf({ data: small.data, facts: small }), size }
}
