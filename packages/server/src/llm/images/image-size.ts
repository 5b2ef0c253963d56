/** Width and height of an inline image, from its first bytes. Pure and total. Source: agent-core.md 10.10. */
import type { LlmImage } from '../llm.ts'

export type ImageSize = { width: number; height: number }

/** Length of the part that is searched for the size, in characters of base64. Nearly all files have the size in it. */
const HEAD_CHARS = 256 * 1024

const known = new WeakMap<LlmImage, ImageSize | null>()

/** Returns the pixels of an inline PNG, JPEG, GIF or WebP; null for any other image and where the size is not found. */
export function imageSize(image: LlmImage): ImageSize | null {
  const found = known.get(image)
  if (found !== undefined) return found
  const comma = image.url.startsWith('data:') ? image.url.indexOf(';base64,') : -1
  const head = comma === -1 ? '' : image.url.slice(comma + 8, comma + 8 + HEAD_CHARS)
  const size = head === '' ? null : sizeIn(Buffer.from(head, 'base64'))
  known.set(image, size)
  return size
}

function sizeIn(bytes: Buffer): ImageSize | null {
  const head = bytes.toString('latin1', 0, 16)
  if (head.startsWith('\x89PNG')) return at(bytes, 24, () => [bytes.readUInt32BE(16), bytes.readUInt32BE(20)])
  if (head.startsWith('GIF8')) return at(bytes, 10, () => [bytes.readUInt16LE(6), bytes.readUInt16LE(8)])
  if (head.startsWith('RIFF') && head.slice(8, 12) === 'WEBP') return sizeOfWebp(bytes, head.slice(12, 16))
  return head.startsWith('\xff\xd8') ? sizeOfJpeg(bytes) : null
}

function at(bytes: Buffer, least: number, read: () => [number, number]): ImageSize | null {
  if (bytes.length < least) return null
  const [width, height] = read()
  return { width, height }
}

function sizeOfWebp(bytes: Buffer, chunk: string): ImageSize | null {
  switch (chunk) {
    case 'VP8 ':
      return at(bytes, 30, () => [bytes.readUInt16LE(26) & 0x3fff, bytes.readUInt16LE(28) & 0x3fff])
    case 'VP8L':
      return at(bytes, 25, () => {
        const bits = bytes.readUInt32LE(21)
        return [(bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1]
      })
    case 'VP8X':
      return at(bytes, 30, () => [bytes.readUIntLE(24, 3) + 1, bytes.readUIntLE(27, 3) + 1])
    default:
      return null
  }
}

/** Skips segments up to the one that begins a frame. */
function sizeOfJpeg(bytes: Buffer): ImageSize | null {
  for (let from = 2; from + 9 <= bytes.length;) {
    if (bytes[from] !== 0xff) return null
    const marker = bytes[from + 1]!
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)
    if (isFrame) return { width: bytes.readUInt16BE(from + 7), height: bytes.readUInt16BE(from + 5) }
    from += 2 + bytes.readUInt16BE(from + 2)
  }
  return null
}
