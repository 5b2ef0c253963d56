/** Headers of PNG, JPEG, GIF and WebP. Each reader is called for bytes that begin as its format does. Pure and total. */
import type { ByteSource } from './byte-source.ts'

/** Pixels as stored. `orientation`: how the camera was held, 1 to 8, as in EXIF. `isComplete`: false when the end is missing. */
export type Readable = { width: number; height: number; orientation: number; isComplete: boolean }

/** Chunks and segments that are visited; a file with more counts as complete. Encoders write chunks of several KiB. */
const mostPlaces = ({ length }: ByteSource): number => 64 + length / 1024
/** Bytes that are searched at once for the end of a JPEG. */
const BLOCK_BYTES = 1024 * 1024
const TAIL_BYTES = 64 * 1024
const UPRIGHT = 1

export function pngFacts(source: ByteSource): Readable | null {
  const header = source.read(8, 16)
  if (header.length < 16 || header.toString('latin1', 4, 8) !== 'IHDR') return null
  const size = { width: header.readUInt32BE(8), height: header.readUInt32BE(12), orientation: UPRIGHT }
  return { ...size, isComplete: endsWithIend(source) }
}

function endsWithIend(source: ByteSource): boolean {
  let at = 8
  for (let place = 0; place < mostPlaces(source); place++) {
    const head = source.read(at, 8)
    if (head.length < 8) return false
    at += 12 + head.readUInt32BE(0)
    if (at > source.length) return false
    if (head.toString('latin1', 4, 8) === 'IEND') return true
  }
  return true
}

export function gifFacts(source: ByteSource): Readable | null {
  const head = source.read(0, 13)
  if (head.length < 13) return null
  const tail = source.read(Math.max(13, source.length - 32), 32)
  return {
    width: head.readUInt16LE(6),
    height: head.readUInt16LE(8),
    orientation: UPRIGHT,
    isComplete: tail.includes(0x3b),
  }
}

export function webpFacts(source: ByteSource): Readable | null {
  const head = source.read(0, 30)
  if (head.length < 30) return null
  const size = sizeOfWebp(head)
  return size && { ...size, orientation: UPRIGHT, isComplete: source.length >= head.readUInt32LE(4) + 8 }
}

function sizeOfWebp(head: Buffer): { width: number; height: number } | null {
  switch (head.toString('latin1', 12, 16)) {
    case 'VP8 ':
      return { width: head.readUInt16LE(26) & 0x3fff, height: head.readUInt16LE(28) & 0x3fff }
    case 'VP8L': {
      const bits = head.readUInt32LE(21)
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
    }
    case 'VP8X':
      return { width: head.readUIntLE(24, 3) + 1, height: head.readUIntLE(27, 3) + 1 }
    default:
      return null
  }
}

/** Visits the segments up to the first scan. */
export function jpegFacts(source: ByteSource): Readable | null {
  let at = 2
  let size: { width: number; height: number } | null = null
  let orientation = UPRIGHT
  for (let place = 0; place < mostPlaces(source); place++) {
    const head = source.read(at, 9)
    if (head.length < 4 || head[0] !== 0xff) break
    const marker = head[1]!
    // Fill bytes, and markers without a segment.
    if (marker === 0xff || marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8)) {
      at += marker === 0xff ? 1 : 2
      continue
    }
    const length = head.readUInt16BE(2)
    // The length counts its own two bytes.
    if (marker === 0xd9 || length < 2) break
    if (marker === 0xda) return size && { ...size, orientation, isComplete: hasJpegEnd(source, at + 2 + length) }
    if (isFrame(marker) && head.length === 9) size = { width: head.readUInt16BE(7), height: head.readUInt16BE(5) }
    if (marker === 0xe1) orientation = orientationIn(source.read(at + 4, length - 2)) ?? orientation
    at += 2 + length
  }
  return size && { ...size, orientation, isComplete: false }
}

const isFrame = (marker: number): boolean => marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)

/** Compressed data never contains the marker of the end. Some cameras append other files to the image. */
function hasJpegEnd(source: ByteSource, from: number): boolean {
  const isAt = (start: number, count: number) => source.read(start, count).includes('\xff\xd9', 0, 'latin1')
  if (isAt(Math.max(from, source.length - TAIL_BYTES), TAIL_BYTES)) return true
  for (let at = from; at < source.length; at += BLOCK_BYTES) if (isAt(at, BLOCK_BYTES + 1)) return true
  return false
}

/** The orientation in a segment with EXIF data; null without one. */
function orientationIn(segment: Buffer): number | null {
  if (segment.toString('latin1', 0, 6) !== 'Exif\0\0') return null
  const tiff = segment.subarray(6)
  const isLittle = tiff.toString('latin1', 0, 2) === 'II'
  const u16 = (at: number) => (at + 2 > tiff.length ? 0 : isLittle ? tiff.readUInt16LE(at) : tiff.readUInt16BE(at))
  const u32 = (at: number) => (at + 4 > tiff.length ? 0 : isLittle ? tiff.readUInt32LE(at) : tiff.readUInt32BE(at))
  const directory = u32(4)
  for (let entry = 0; entry < u16(directory); entry++) {
    const at = directory + 2 + entry * 12
    if (u16(at) !== 0x0112) continue
    const value = u16(at + 8)
    return value >= 1 && value <= 8 ? value : null
  }
  return null
}
