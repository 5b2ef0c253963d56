import { afterAll, expect, test } from 'vitest'
import { gifOf, jpegOf, pngOf, pngPadding, webpOf } from '../../../testing/images.ts'
import { ofBase64, ofBytes } from './byte-source.ts'
import { factsOf, type ImageFacts } from './file-facts.ts'
import { SENT_BYTES } from './limits.ts'
import { ImageShrinker, MAX_PIXELS } from './shrinker.ts'

const NEVER = new AbortController().signal
const shrinker = new ImageShrinker()
afterAll(() => shrinker[Symbol.dispose]())

function factsIn(bytes: Uint8Array): ImageFacts {
  const facts = factsOf(ofBytes(bytes))
  if (facts.kind !== 'image') throw new Error(facts.file)
  return facts
}
const shrink = (bytes: Buffer, by = shrinker) => by.shrink(bytes.toString('base64'), factsIn(bytes), NEVER)

const WIDE = { width: 2400, height: 60 }

test.each([
  ['image/png', pngOf(WIDE), 'image/png'],
  ['image/gif', gifOf(WIDE), 'image/png'],
  ['image/webp', webpOf(WIDE), 'image/png'],
  ['image/jpeg', jpegOf(WIDE), 'image/jpeg'],
])('%s becomes smaller, with the same proportions', async (_type, bytes, type) => {
  const small = await shrink(bytes)
  expect(small).toMatchObject({ type, width: 2000, height: 50 })
  expect(factsOf(ofBase64(small!.data))).toMatchObject({ type, width: 2000, height: 50, isComplete: true })
})

test('an image of few pixels and many bytes is written again', async () => {
  const bytes = pngOf({ width: 20, height: 20 }, pngPadding(4_000_000))
  expect(await shrink(bytes)).toMatchObject({ type: 'image/png', width: 20, height: 20 })
})

test('an image that is too large without loss becomes a JPEG', async () => {
  const small = await shrink(pngOf({ width: 1400, height: 1400, hasNoise: true }))
  expect(small).toMatchObject({ type: 'image/jpeg', width: 1400, height: 1400 })
  expect(small!.data.length * 0.75).toBeLessThanOrEqual(SENT_BYTES)
}, 60_000)

test('the result follows from the image alone, so that a restart changes no request', async () => {
  using other = new ImageShrinker()
  const bytes = jpegOf({ ...WIDE, hasNoise: true })
  expect(await shrink(bytes, other)).toEqual(await shrink(bytes))
})

test('a known image is not decoded again', async () => {
  const bytes = pngOf({ ...WIDE, seed: 5 })
  expect(await shrink(bytes)).toBe(await shrink(bytes))
})

test('the orientation of a photo is kept', async () => {
  const photo = jpegOf({ ...WIDE, seed: 3 })
  const turned = await shrinker.shrink(photo.toString('base64'), { ...factsIn(photo), orientation: 8 }, NEVER)
  expect(factsOf(ofBase64(turned!.data))).toMatchObject({ kind: 'image', orientation: 8, width: 2000 })
})

test('an image with too many pixels is not decoded', async () => {
  const side = Math.ceil(Math.sqrt(MAX_PIXELS)) + 1
  const facts: ImageFacts = {
    kind: 'image',
    type: 'image/png',
    width: side,
    height: side,
    orientation: 1,
    isComplete: true,
  }
  // The data is that of a good image: only the header of the caller counts here.
  expect(await shrinker.shrink(pngOf({ ...WIDE, seed: 9 }).toString('base64'), facts, NEVER)).toBeNull()
})

test('an image that cannot be decoded has no smaller form, and the next one has', async () => {
  const bytes = pngOf({ ...WIDE, seed: 7 })
  const bad = Buffer.from(bytes)
  bad.fill(0x55, bad.indexOf('IDAT') + 4, bad.indexOf('IEND') - 8)
  expect(await shrink(bad)).toBeNull()
  expect(await shrink(bytes)).not.toBeNull()
})

test('an image whose frame has more pixels than its canvas says cannot use up the memory', async () => {
  const small = webpOf({ width: 20, height: 20 })
  const canvas = Buffer.alloc(18)
  canvas.write('VP8X')
  canvas.writeUInt32LE(10, 4)
  canvas.writeUIntLE(99, 12, 3)
  canvas.writeUIntLE(99, 15, 3)
  const hostile = Buffer.concat([small.subarray(0, 12), canvas, small.subarray(12)])
  hostile.writeUInt32LE(hostile.length - 8, 4)
  // 16,384 pixels on each side.
  hostile.writeUInt32LE(0x0fffffff, 12 + canvas.length + 9)
  expect(factsIn(hostile)).toMatchObject({ width: 100, height: 100 })
  expect(await shrink(hostile)).toBeNull()
})

test('a caller that is aborted does not wait, and others get the result', async () => {
  const bytes = pngOf({ ...WIDE, seed: 11 })
  const aborted = shrinker.shrink(bytes.toString('base64'), factsIn(bytes), AbortSignal.abort(new Error('stop')))
  await expect(aborted).rejects.toThrow('stop')
  expect(await shrink(bytes)).not.toBeNull()
})

test('a shrinker that is closed decodes nothing', async () => {
  const other = new ImageShrinker()
  other[Symbol.dispose]()
  await expect(shrink(pngOf(WIDE), other)).rejects.toThrow('closing')
})
