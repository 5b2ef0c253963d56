/** Real images for tests, made from their size. */
import { PhotonImage } from '@silvia-odwyer/photon-node'
import { crc32, deflateSync } from 'node:zlib'

export type Picture = { width: number; height: number; seed?: number; hasNoise?: boolean }

/** The pixels as RGBA: one colour that depends on `seed`, or noise, which no format makes small. */
function pixelsOf({ width, height, seed = 1, hasNoise = false }: Picture): Uint8Array {
  const pixels = new Uint8Array(width * height * 4)
  let state = seed
  for (let at = 0; at < pixels.length; at++) {
    if (hasNoise) state = (state * 1_103_515_245 + 12_345) & 0x7fffffff
    pixels[at] = at % 4 === 3 ? 255 : hasNoise ? (state >> 16) & 0xff : (seed * (at % 4) * 37) & 0xff
  }
  return pixels
}

function chunk(type: string, data: Uint8Array): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const ends = Buffer.alloc(8)
  ends.writeUInt32BE(data.length, 0)
  ends.writeUInt32BE(crc32(body), 4)
  return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)])
}

/** @param more chunks after the header */
export function pngOf(picture: Picture, ...more: Buffer[]): Buffer {
  const { width, height } = picture
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  // Eight bits, RGBA.
  header.set([8, 6, 0, 0, 0], 8)
  const pixels = pixelsOf(picture)
  const rows = Buffer.alloc(height * (width * 4 + 1))
  for (let row = 0; row < height; row++)
    rows.set(pixels.subarray(row * width * 4, (row + 1) * width * 4), row * (width * 4 + 1) + 1)
  const signature = Buffer.from('89504e470d0a1a0a', 'hex')
  const data = deflateSync(rows, { level: 1 })
  return Buffer.concat([signature, chunk('IHDR', header), ...more, chunk('IDAT', data), chunk('IEND', Buffer.alloc(0))])
}

/** A chunk that decoders ignore, with `bytes` bytes. */
export const pngPadding = (bytes: number): Buffer => chunk('pdDg', Buffer.alloc(bytes, 7))

export function jpegOf(picture: Picture, quality = 90): Buffer {
  const image = new PhotonImage(pixelsOf(picture), picture.width, picture.height)
  const bytes = Buffer.from(image.get_bytes_jpeg(quality))
  image.free()
  return bytes
}

export function webpOf(picture: Picture): Buffer {
  const image = new PhotonImage(pixelsOf(picture), picture.width, picture.height)
  const bytes = Buffer.from(image.get_bytes_webp())
  image.free()
  return bytes
}

/** Codes of nine bits, with a clear code before the decoder would use ten. */
export function gifOf({ width, height, seed = 1 }: Picture): Buffer {
  const codes: number[] = []
  for (let at = 0; at < width * height; at++) {
    if (at % 200 === 0) codes.push(256)
    codes.push(seed % 256)
  }
  codes.push(257)
  const data = Buffer.alloc(Math.ceil((codes.length * 9) / 8))
  for (const [n, code] of codes.entries())
    for (let bit = 0; bit < 9; bit++) {
      const at = n * 9 + bit
      data[at >> 3]! |= ((code >> bit) & 1) << (at & 7)
    }
  const blocks: Buffer[] = []
  for (let at = 0; at < data.length; at += 255) {
    const block = data.subarray(at, at + 255)
    blocks.push(Buffer.from([block.length]), block)
  }
  const size = Buffer.alloc(4)
  size.writeUInt16LE(width, 0)
  size.writeUInt16LE(height, 2)
  const palette = Buffer.from(Array.from({ length: 768 }, (_, at) => (at * 31) & 0xff))
  return Buffer.concat([
    Buffer.from('GIF89a', 'latin1'),
    size,
    Buffer.from([0xf7, 0, 0]),
    palette,
    Buffer.from([0x2c, 0, 0, 0, 0]),
    size,
    Buffer.from([0, 8]),
    ...blocks,
    Buffer.from([0, 0x3b]),
  ])
}

/** A bitmap of Windows with 24 bits for each pixel. */
export function bmpOf({ width, height }: Picture): Buffer {
  const row = Math.ceil((width * 3) / 4) * 4
  const bytes = Buffer.alloc(54 + row * height, 0x40)
  bytes.fill(0, 0, 54)
  bytes.write('BM', 'latin1')
  bytes.writeUInt32LE(bytes.length, 2)
  bytes.writeUInt32LE(54, 10)
  bytes.writeUInt32LE(40, 14)
  bytes.writeInt32LE(width, 18)
  bytes.writeInt32LE(height, 22)
  bytes.writeUInt16LE(1, 26)
  bytes.writeUInt16LE(24, 28)
  return bytes
}

/** The text that Git LFS keeps in place of a file. */
export const LFS_POINTER = Buffer.from(
  `version https://git-lfs.github.com/spec/v1\noid sha256:${'4d7a'.repeat(16)}\nsize 123456\n`,
)

export const dataUrl = (type: string, bytes: Uint8Array): string =>
  `data:${type};base64,${Buffer.from(bytes).toString('base64')}`
