/** Images in requests: their real type and size, as a vendor finds them. */
import { ofBase64 } from '../../../src/llm/images/byte-source.ts'
import { factsOf } from '../../../src/llm/images/file-facts.ts'

export type SentImage = {
  /** Place in the request, in the vendor's form. */
  place: string
  mediaType: string
  /** Base64. */
  data: string
}

const MAGIC: readonly [type: string, matches: (head: Buffer) => boolean][] = [
  ['image/png', (head) => head.subarray(0, 4).toString('latin1') === '\x89PNG'],
  ['image/jpeg', (head) => head.subarray(0, 3).toString('latin1') === '\xff\xd8\xff'],
  ['image/gif', (head) => head.subarray(0, 4).toString('latin1') === 'GIF8'],
  [
    'image/webp',
    (head) => head.toString('latin1').startsWith('RIFF') && head.subarray(8, 12).toString('latin1') === 'WEBP',
  ],
]

/** The type that the bytes of an image have; null for bytes of no image. */
export function typeOfBytes({ data }: SentImage): string | null {
  const head = Buffer.from(data.slice(0, 24), 'base64')
  return MAGIC.find(([, matches]) => matches(head))?.[0] ?? null
}

/** The longer side in pixels; 0 when the image does not say. */
export function longerSide({ data }: SentImage): number {
  const facts = factsOf(ofBase64(data))
  return facts.kind === 'image' ? Math.max(facts.width, facts.height) : 0
}

/** The image of a data URL; null for other addresses. */
export function fromUrl(place: string, url: string): SentImage | null {
  const [, mediaType, data] = /^data:([^;,]+);base64,(.*)$/s.exec(url) ?? []
  return mediaType === undefined || data === undefined ? null : { place, mediaType, data }
}
