/**
 * What the bytes of a file say: an image that models accept with its size, or another file. Pure and total: any bytes have an answer.
 *
 * Rules
 *   I1. Names and declared media types do not count.
 *   I2. A file is read at a bounded number of places, so that its cost does not grow with hostile headers.
 *   I3. Where it cannot be known cheaply whether the end is missing, the image counts as complete: a vendor that refuses it is handled later.
 */
// Bytes are matched as Latin-1, control characters included.
/* oxlint-disable no-control-regex */
import { isUtf8 } from 'node:buffer'
import type { ByteSource } from './byte-source.ts'
import { gifFacts, jpegFacts, pngFacts, webpFacts, type Readable } from './image-headers.ts'

export type ImageType = 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp'

/** Files that are no image which models accept. `damaged`: the type is one of those, but its header cannot be read. */
export type OtherFile =
  | 'empty'
  | 'lfs-pointer'
  | 'damaged'
  | 'bmp'
  | 'tiff'
  | 'svg'
  | 'heic'
  | 'avif'
  | 'ico'
  | 'psd'
  | 'jxl'
  | 'pdf'
  | 'html'
  | 'text'
  | 'unknown'

export type ImageFacts = { kind: 'image'; type: ImageType } & Readable
export type FileFacts = ImageFacts | { kind: 'other'; file: OtherFile }

const HEAD_BYTES = 1024

const READERS: readonly { type: ImageType; begins: RegExp; read: (source: ByteSource) => Readable | null }[] = [
  { type: 'image/png', begins: /^\x89PNG\r\n\x1a\n/, read: pngFacts },
  { type: 'image/jpeg', begins: /^\xff\xd8\xff/, read: jpegFacts },
  { type: 'image/gif', begins: /^GIF8[79]a/, read: gifFacts },
  { type: 'image/webp', begins: /^RIFF[^]{4}WEBP/, read: webpFacts },
]

/** In this order: each row may rely on those before it. */
const OTHERS: readonly [OtherFile, RegExp][] = [
  ['empty', /^$/],
  ['lfs-pointer', /^version https:\/\/git-lfs\.github\.com\/spec\//],
  ['bmp', /^BM[^]{4}\0{4}/],
  ['tiff', /^(?:II[*+]\0|MM\0[*+])/],
  ['avif', /^[^]{4}ftypavi[fs]/],
  ['heic', /^[^]{4}ftyp(?:he[im][csx]|hev[cx]|m[is]f1)/],
  ['ico', /^\0\0[\x01\x02]\0/],
  ['psd', /^8BPS/],
  ['jxl', /^(?:\xff\x0a|\0\0\0\x0cJXL )/],
  ['pdf', /^%PDF-/],
  ['svg', /^(?:\xef\xbb\xbf)?\s*<(?:svg[\s>]|(?:\?xml|!DOCTYPE|!--)[^]*<svg[\s>])/i],
  ['html', /^(?:\xef\xbb\xbf)?\s*<(?:!doctype html|html[\s>])/i],
]

export function factsOf(source: ByteSource): FileFacts {
  const bytes = source.read(0, HEAD_BYTES)
  const head = bytes.toString('latin1')
  const reader = READERS.find(({ begins }) => begins.test(head))
  if (reader === undefined)
    return {
      kind: 'other',
      file: OTHERS.find(([, begins]) => begins.test(head))?.[0] ?? (isText(bytes) ? 'text' : 'unknown'),
    }
  const found = reader.read(source)
  if (found === null || found.width === 0 || found.height === 0) return { kind: 'other', file: 'damaged' }
  return { kind: 'image', type: reader.type, ...found }
}

/** The last character may be cut off. */
function isText(head: Buffer): boolean {
  const hasControls = head.some((byte) => byte < 0x20 && ![0x09, 0x0a, 0x0c, 0x0d, 0x1b].includes(byte))
  return !hasControls && [0, 1, 2, 3].some((cut) => isUtf8(head.subarray(0, Math.max(1, head.length - cut))))
}
