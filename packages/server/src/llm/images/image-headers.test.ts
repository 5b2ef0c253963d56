import fc from 'fast-check'
import { expect, test } from 'vitest'
import { bmpOf, gifOf, jpegOf, LFS_POINTER, pngOf, pngPadding, webpOf } from '../../../testing/images.ts'
import { ofBase64, ofBytes, plainBase64, type ByteSource } from './byte-source.ts'
import { factsOf, type OtherFile } from './file-facts.ts'

const SIZE = { width: 64, height: 48 }
const IMAGES = [
  ['image/png', pngOf(SIZE)],
  ['image/jpeg', jpegOf(SIZE)],
  ['image/gif', gifOf(SIZE)],
  ['image/webp', webpOf(SIZE)],
] as const

/** Both forms of the same bytes, the second read at random places of base64. */
const sourcesOf = (bytes: Uint8Array): ByteSource[] => [ofBytes(bytes), ofBase64(Buffer.from(bytes).toString('base64'))]

test.each(IMAGES)('%s is recognised with its size, from bytes and from base64', (type, bytes) => {
  for (const source of sourcesOf(bytes))
    expect(factsOf(source)).toEqual({ kind: 'image', type, ...SIZE, orientation: 1, isComplete: true })
})

test.each(IMAGES)('%s without its end is recognised as incomplete', (_type, bytes) => {
  for (const source of sourcesOf(bytes.subarray(0, bytes.length - 40)))
    expect(factsOf(source)).toMatchObject({ kind: 'image', isComplete: false })
})

test('a PNG whose last checksum is missing is incomplete', () => {
  expect(factsOf(ofBytes(pngOf(SIZE).subarray(0, -2)))).toMatchObject({ kind: 'image', isComplete: false })
})

test.each(IMAGES)('%s with only its first bytes is damaged', (_type, bytes) => {
  expect(factsOf(ofBytes(bytes.subarray(0, 12)))).toEqual({ kind: 'other', file: 'damaged' })
})

test.each([16, 20])('an image with no pixels on a side is damaged', (at) => {
  const bytes = pngOf(SIZE)
  bytes.writeUInt32BE(0, at)
  expect(factsOf(ofBytes(bytes))).toEqual({ kind: 'other', file: 'damaged' })
})

test.each<[OtherFile, Uint8Array]>([
  ['empty', Buffer.alloc(0)],
  ['lfs-pointer', LFS_POINTER],
  ['bmp', bmpOf(SIZE)],
  ['tiff', Buffer.from('49492a0008000000', 'hex')],
  ['tiff', Buffer.from('4d4d002a00000008', 'hex')],
  ['svg', Buffer.from('<?xml version="1.0"?>\n<!-- a -->\n<svg xmlns="http://www.w3.org/2000/svg"/>')],
  ['svg', Buffer.from('\n<svg></svg>')],
  ['heic', Buffer.from('\0\0\0\x18ftypheic\0\0\0\0', 'latin1')],
  ['avif', Buffer.from('\0\0\0\x18ftypavif\0\0\0\0', 'latin1')],
  ['ico', Buffer.from('000001000100', 'hex')],
  ['pdf', Buffer.from('%PDF-1.7\n')],
  ['html', Buffer.from('<!DOCTYPE html><html>')],
  ['text', Buffer.from('BMW is a make of cars.')],
  ['text', Buffer.from('{"error": "not found"}')],
  ['unknown', Buffer.from('00ff00ff', 'hex')],
  ['unknown', Buffer.from('89504e', 'hex')],
  ['text', Buffer.from(`${'a'.repeat(1023)}é`)],
])('%s is recognised', (file, bytes) => {
  for (const source of sourcesOf(bytes)) expect(factsOf(source)).toEqual({ kind: 'other', file })
})

/** A segment for data of programs. */
const segment = (begin: string, tiff: string): Buffer => {
  const body = Buffer.concat([Buffer.from(begin, 'latin1'), Buffer.from(tiff, 'hex')])
  return Buffer.concat([Buffer.from([0xff, 0xe1, 0, body.length + 2]), body])
}
/** A directory with the orientation alone. */
const big = (value: number) => `4d4d002a0000000800010112000300000001000${value}000000000000`

test.each<[string, Buffer[], number]>([
  ['is read', [segment('Exif\0\0', big(6))], 6],
  ['stays behind other data of programs', [segment('Exif\0\0', big(6)), segment('http://ns.adobe.com/', '')], 6],
  ['is that of EXIF alone', [segment('Else\0\0', big(6))], 1],
  ['is one of eight', [segment('Exif\0\0', big(9))], 1],
  ['is read only where the directory is whole', [segment('Exif\0\0', big(6).slice(0, 36))], 1],
])('the orientation that a camera has noted %s', (_name, segments, orientation) => {
  const bytes = jpegOf(SIZE)
  const held = Buffer.concat([bytes.subarray(0, 2), ...segments, bytes.subarray(2)])
  expect(factsOf(ofBytes(held))).toMatchObject({ ...SIZE, orientation, isComplete: true })
})

test('a JPEG that ends before its first scan is incomplete', () => {
  const bytes = jpegOf(SIZE)
  const scan = bytes.indexOf(Buffer.from('ffda', 'hex'))
  const ended = Buffer.concat([bytes.subarray(0, scan), Buffer.from('ffd90002', 'hex'), bytes.subarray(scan)])
  expect(factsOf(ofBytes(ended))).toMatchObject({ ...SIZE, isComplete: false })
})

test('base64 gives the same bytes as the file itself, at any places in any order', () => {
  const places = fc.array(fc.tuple(fc.nat(9000), fc.nat(5000)), { minLength: 1, maxLength: 20 })
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 6000, maxLength: 8000 }), places, (bytes, reads) => {
      const [plain, encoded] = sourcesOf(bytes)
      expect(encoded!.length).toBe(plain!.length)
      for (const [from, count] of reads) expect(encoded!.read(from, count)).toEqual(plain!.read(from, count))
    }),
    { numRuns: 50 },
  )
})

test('bytes after the end of an image do not matter', () => {
  const more = Buffer.alloc(2_000_000, 1)
  for (const [type, bytes] of IMAGES.filter(([type]) => type !== 'image/gif'))
    expect(factsOf(ofBytes(Buffer.concat([bytes, more])))).toMatchObject({ type, isComplete: true })
})

test('an image with 50,000 chunks is read at a bounded number of places', () => {
  const bytes = pngOf(SIZE, Buffer.concat(Array.from({ length: 50_000 }, () => pngPadding(0))))
  let reads = 0
  const source = ofBytes(bytes)
  factsOf({ length: source.length, read: (from, count) => (reads++, source.read(from, count)) })
  expect(reads).toBeLessThan(70 + bytes.length / 1024)
})

test('base64 with line breaks, with the alphabet of addresses or without padding becomes plain', () => {
  const bytes = Buffer.from('fbff7e00', 'hex')
  const plain = bytes.toString('base64')
  expect(['+/9+AA==', '+/9\n+AA==', '-_9-AA==', '+/9+AA'].map(plainBase64)).toEqual([plain, plain, plain, plain])
})

/** Fails where a reader asks for a place that no file has. */
function checked(bytes: Uint8Array): ByteSource {
  const source = ofBytes(bytes)
  return {
    length: source.length,
    read(from, count) {
      if (!(from >= 0 && count >= 0 && Number.isSafeInteger(from + count))) throw new Error(`read ${from}, ${count}`)
      return source.read(from, count)
    },
  }
}

test.each([0, 1])('a JPEG with a segment of %i bytes, less than its length needs, is damaged', (length) => {
  expect(factsOf(checked(Buffer.from([0xff, 0xd8, 0xff, 0xe1, 0, length, 0, 0, 0, 0, 0, 0, 0])))).toEqual({
    kind: 'other',
    file: 'damaged',
  })
})

const begins = fc.constantFrom(
  ...IMAGES.map(([, bytes]) => bytes),
  Buffer.from('ffd8ffe10010', 'hex'),
  Buffer.from('ffd8ffe1ffff457869660000', 'hex'),
  Buffer.from('RIFF\xff\xff\xff\xffWEBPVP8X', 'latin1'),
  Buffer.alloc(0),
)

test('no bytes make the readers throw, and base64 gives the same answer as bytes', () => {
  const edits = fc.array(fc.tuple(fc.nat(400), fc.nat(255)), { maxLength: 30 })
  fc.assert(
    fc.property(begins, edits, fc.nat(4000), fc.uint8Array({ maxLength: 300 }), (base, changes, cut, more) => {
      const bytes = Buffer.concat([base.subarray(0, cut), more])
      for (const [at, value] of changes) if (at < bytes.length) bytes[at] = value
      const facts = factsOf(checked(bytes))
      expect(factsOf(ofBase64(bytes.toString('base64')))).toEqual(facts)
    }),
    { numRuns: 2000 },
  )
})
