import { afterAll, expect, test } from 'vitest'
import { bmpOf, dataUrl, gifOf, jpegOf, pngOf } from '../../../testing/images.ts'
import { LlmError, type LlmMessage } from '../llm.ts'
import { imageMark } from '../providers/refused-part.ts'
import { fitImages } from './fit-images.ts'
import { imageLimits, type ImageLimits } from './limits.ts'
import { ImageShrinker } from './shrinker.ts'

const NEVER = new AbortController().signal
const shrinker = new ImageShrinker()
afterAll(() => shrinker[Symbol.dispose]())

const ANTHROPIC = imageLimits('anthropic', true)
const GEMINI = imageLimits('google', false)
const OPENAI = imageLimits('chat', false)
const PNG = dataUrl('image/png', pngOf({ width: 2, height: 2 }))

const message = (...urls: string[]): LlmMessage => ({
  role: 'user',
  content: [{ type: 'text', text: 'Look.' }, ...urls.map((url) => ({ type: 'image' as const, url }))],
})
const fit = (messages: readonly LlmMessage[], limits: ImageLimits = ANTHROPIC, given = messages) =>
  fitImages(messages, { limits, shrinker, given }, NEVER)
const urls = (messages: readonly LlmMessage[]) =>
  messages.flatMap(({ content }) => content.flatMap((part) => ('url' in part ? [part.url] : [])))

async function refusalOf(messages: readonly LlmMessage[], limits?: ImageLimits, given = messages) {
  const error: unknown = await fit(messages, limits, given).then(
    () => null,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(LlmError)
  const { message, refused } = error as LlmError
  return { message, ...refused }
}

test('messages without a change are the given ones', async () => {
  const messages = [message(PNG, 'https://example.org/a.bmp'), message()]
  const fitted = await fit(messages)
  expect(fitted[0]).toBe(messages[0])
  expect(fitted[1]).toBe(messages[1])
})

test('the content decides the media type, and the given message is not changed', async () => {
  const jpeg = jpegOf({ width: 2, height: 2 })
  const messages = [message(dataUrl('image/png', jpeg), dataUrl('application/octet-stream', jpeg))]
  expect(urls(await fit(messages))).toEqual([dataUrl('image/jpeg', jpeg), dataUrl('image/jpeg', jpeg)])
  expect(urls(messages)[0]).toMatch(/^data:image\/png/)
})

test('a large image is made smaller, to the same bytes in every request', async () => {
  const messages = [message(dataUrl('image/png', pngOf({ width: 2400, height: 30 })), PNG)]
  const first = urls(await fit(messages))
  expect(first[1]).toBe(PNG)
  expect(first[0]).not.toBe(urls(messages)[0])
  expect(urls(await fit(structuredClone(messages)))).toEqual(first)
})

test('a GIF becomes a PNG for the vendor that does not take it', async () => {
  const gif = dataUrl('image/gif', gifOf({ width: 4, height: 4 }))
  expect(urls(await fit([message(gif)], ANTHROPIC))).toEqual([gif])
  expect(urls(await fit([message(gif)], GEMINI))).toEqual([expect.stringMatching(/^data:image\/png;base64,/)])
  const bytes = gifOf({ width: 4, height: 4 })
  // A picture of no size.
  bytes.fill(0xff, 13 + 768 + 1, 13 + 768 + 9)
  expect((await refusalOf([message(dataUrl('image/gif', bytes))], GEMINI)).message).toMatch(/^It is a GIF image, which/)
})

test('images that cannot be sent are named together, as they were given, each with its reason', async () => {
  const bmp = dataUrl('image/png', bmpOf({ width: 4, height: 4 }))
  const empty = 'data:image/png;base64,'
  const given = [message(PNG, 'https://example.org/a.bmp', PNG, bmp, empty)]
  const loaded = [message(PNG, bmp, PNG, bmp, empty)]
  const about = 'It is a BMP image, which models cannot see. Send a PNG, JPEG, GIF or WebP.'
  const reasons = [
    [imageMark('https://example.org/a.bmp'), about],
    [imageMark(bmp), about],
    [imageMark(empty), 'It is an empty file. Send a PNG, JPEG, GIF or WebP.'],
  ] as const
  expect(await refusalOf(loaded, ANTHROPIC, given)).toEqual({
    message: `${about} ${reasons[2][1]}`,
    part: 'image',
    marks: reasons.map(([mark]) => mark),
    reasons: new Map(reasons),
  })
})

test.each(['data:image/png,%89PNG', 'ftp://example.org/a.png', 'data:;base64', ''])(
  'the address %s is refused with the forms that are accepted',
  async (url) => {
    expect((await refusalOf([message(url)])).message).toMatch(
      /cannot be read\. Give an http or https address, or a data/,
    )
  },
)

/** A PNG that says it has this size, and cannot be decoded. */
function claimed(width: number, height: number): string {
  const bytes = pngOf({ width: 2, height: 2 })
  bytes.writeUInt32BE(width, 16)
  bytes.writeUInt32BE(height, 20)
  return dataUrl('image/png', bytes)
}

test('an image that cannot be made smaller is refused with the command, where the vendor would refuse it', async () => {
  expect((await refusalOf([message(claimed(9000, 9000))])).message).toMatch(
    /^It has 9000 × 9000 pixels .*, more than 8000 pixels on a side or 3932160 bytes, .*`convert 'image\.png' -resize '2000x2000>' 'image\.small\.jpg'`/,
  )
  const some = claimed(6000, 6000)
  expect(urls(await fit([message(some)]))).toEqual([some])
  expect(urls(await fit([message(claimed(9000, 9000))], OPENAI))).toHaveLength(1)
  const twenty = [message(...Array.from({ length: 19 }, () => PNG), some)]
  expect(urls(await fit(twenty)).at(-1)).toBe(some)
  const many = message(...Array.from({ length: 20 }, () => PNG), some)
  expect(await refusalOf([many])).toMatchObject({
    marks: [imageMark(some)],
    message: expect.stringMatching(/than 2000/),
  })
})

test('of more images than the vendor takes, half of its number stay', async () => {
  const all = (count: number) => [message(...Array.from({ length: count }, () => PNG))]
  expect(urls(await fit(all(100)))).toHaveLength(100)
  expect(await refusalOf(all(101))).toMatchObject({ part: 'image', marks: [], keeps: 50 })
  const heavy: ImageLimits = { ...ANTHROPIC, requestChars: 10 * PNG.length }
  expect(urls(await fit(all(10), heavy))).toHaveLength(10)
  expect(await refusalOf(all(11), heavy)).toMatchObject({ keeps: 5 })
})
