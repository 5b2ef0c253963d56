/**
 * Images as the vendor of a request accepts them. Source: docs/models.md, Images.
 *
 * Rules
 *   F1. The content decides the media type, whatever the data URL says.
 *   F2. An image that is too large is made smaller. The same image has the same form in every request.
 *   F3. An image that cannot be sent ends the request before it is made, with an error that names the image and says what to do. The
 *       caller leaves the image out, as it does after a refusal of the vendor.
 *   F4. Images given by address are the vendor's to load, and stay.
 */
import { TimeSlices } from '../../lib/index.ts'
import { LlmError, type LlmImage, type LlmMessage, type LlmText } from '../llm.ts'
import { imageMark } from '../providers/refused-part.ts'
import { inlineContent, urlOf, type InlineContent } from './inline-content.ts'
import { SENT_BYTES, SENT_SIDE, type ImageLimits } from './limits.ts'
import { notTaken, tooLarge } from './refusals.ts'
import type { ImageShrinker } from './shrinker.ts'

type Part = LlmText | LlmImage
type Fitted = { kind: 'sent'; url: string } | { kind: 'refused'; refusal: string }

/** Different reasons that the message about one request has. */
const SHOWN_REASONS = 3

const contents = new WeakMap<LlmImage, InlineContent>()
const images = (messages: readonly LlmMessage[]): LlmImage[] =>
  messages.flatMap(({ content }) => (content as readonly Part[]).filter((part) => part.type === 'image'))
const hasImage = ({ content }: LlmMessage): boolean =>
  (content as readonly Part[]).some((part) => part.type === 'image')

export type FitDeps = {
  limits: ImageLimits
  shrinker: ImageShrinker
  /** The same messages as they were given, before images were loaded from their addresses. */
  given: readonly LlmMessage[]
}

/**
 * Returns the messages with images that the vendor accepts; messages without a change are returned themselves.
 * @throws LlmError with `refused` when an image has to be left out first.
 */
export async function fitImages(
  messages: readonly LlmMessage[],
  { limits, shrinker, given }: FitDeps,
  signal: AbortSignal,
): Promise<readonly LlmMessage[]> {
  if (!messages.some(hasImage)) return messages
  const all = images(messages)
  expectFew(
    all.map(() => 0),
    limits,
  )
  const slices = new TimeSlices()
  const fitted: Fitted[] = []
  for (const image of all) {
    await slices.next()
    fitted.push(await fit(image, all.length, { limits, shrinker }, signal))
  }
  expectNoneRefused(fitted, images(given))
  const sizes = fitted.map((one) => (one.kind === 'sent' && one.url.startsWith('data:') ? one.url.length : 0))
  expectFew(sizes, limits)
  const urls = fitted.flatMap((one) => (one.kind === 'sent' ? [one.url] : []))
  return messages.map((message) => withUrls(message, urls))
}

async function fit(
  image: LlmImage,
  count: number,
  { limits, shrinker }: Pick<FitDeps, 'limits' | 'shrinker'>,
  signal: AbortSignal,
): Promise<Fitted> {
  const content = contentOf(image)
  if (content.kind === 'refused') return content
  if (content.kind === 'address') return { kind: 'sent', url: image.url }
  const { data, bytes, facts } = content
  const side = Math.max(facts.width, facts.height)
  const isKnown = limits.types.has(facts.type)
  if (!isKnown || side > SENT_SIDE || bytes > SENT_BYTES) {
    const small = await shrinker.shrink(data, facts, signal)
    if (small !== null) return { kind: 'sent', url: urlOf({ data: small.data, facts: small }) }
  }
  if (!isKnown) return { kind: 'refused', refusal: notTaken(facts) }
  const most = limits.side === null ? Infinity : count > limits.side.above ? limits.side.many : limits.side.few
  if (side > most || data.length > limits.chars)
    return { kind: 'refused', refusal: tooLarge(facts, bytes, acceptedBy(limits, most), null) }
  return { kind: 'sent', url: urlOf(content, image.url) }
}

const acceptedBy = ({ chars }: ImageLimits, side: number): string =>
  `${side === Infinity ? '' : `${side} pixels on a side or `}${Math.floor((chars / 4) * 3)} bytes`

/** The answer is kept as long as the part is. */
function contentOf(image: LlmImage): InlineContent {
  const known = contents.get(image)
  if (known !== undefined) return known
  const content = inlineContent(image.url)
  contents.set(image, content)
  return content
}

/** All are named at once. */
function expectNoneRefused(fitted: readonly Fitted[], given: readonly LlmImage[]): void {
  const reasons = new Map(
    fitted.flatMap((one, at) =>
      one.kind === 'refused' ? [[imageMark(given[at]!.url), `It ${one.refusal}`] as const] : [],
    ),
  )
  if (reasons.size === 0) return
  const message = [...new Set(reasons.values())].slice(0, SHOWN_REASONS).join(' ')
  throw new LlmError('LLMBadRequestError', message, { refused: { part: 'image', marks: [...reasons.keys()], reasons } })
}

/** Half of what fits stays, so that the beginning of the requests does not change with every further image. @param chars of each image */
function expectFew(chars: readonly number[], { count, requestChars }: ImageLimits): void {
  if (newest(chars, count, requestChars) === chars.length) return
  const message = `The server of the model takes ${count} images of together ${requestChars} characters in a request. The newest images stay.`
  throw new LlmError('LLMBadRequestError', message, {
    refused: { part: 'image', marks: [], keeps: Math.max(1, newest(chars, count / 2, requestChars / 2)) },
  })
}

/** The number of images at the end that are within both limits. */
function newest(chars: readonly number[], count: number, most: number): number {
  let sum = 0
  const at = chars.findLastIndex((size, index) => {
    sum += size
    return sum > most || chars.length - index > count
  })
  return chars.length - 1 - at
}

/** Takes the images of the message from the beginning of `urls`. */
function withUrls(message: LlmMessage, urls: string[]): LlmMessage {
  let isChanged = false
  const content = (message.content as readonly Part[]).map((part): Part => {
    if (part.type === 'text') return part
    const url = urls.shift()!
    if (url === part.url) return part
    isChanged = true
    return { type: 'image', url }
  })
  return isChanged ? ({ ...message, content } as LlmMessage) : message
}
