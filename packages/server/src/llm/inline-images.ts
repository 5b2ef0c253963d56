/** Images by address, put into the request where a model takes none by address. Source: agent-core.md 10.10. */
import type { LlmImage, LlmMessage, LlmText } from './llm.ts'
import { fetchImage } from './fetch-image.ts'

/** Characters of all images that are kept, so that a request after the other does not fetch them again. */
const MAX_KEPT_CHARS = 64 * 1024 * 1024
/** An image that could not be had is not asked for again so soon. Milliseconds. */
const FORGET_FAILURE_MS = 5 * 60_000

type Kept = { url: Promise<string | null>; chars: number; failedAt: number | null }

export type ImagesDeps = {
  fetchImage?: typeof fetchImage
  /** Milliseconds. */
  now?: () => number
}

/** The images of a process, newest kept. */
export class Images {
  readonly #kept = new Map<string, Kept>()
  readonly #fetch: typeof fetchImage
  readonly #now: () => number
  #chars = 0

  constructor({ fetchImage: fetch = fetchImage, now = Date.now }: ImagesDeps = {}) {
    this.#fetch = fetch
    this.#now = now
  }

  /** The messages with their images inline; an image that cannot be had keeps its address. The messages given stay as they are. */
  async inline(messages: readonly LlmMessage[], signal: AbortSignal): Promise<readonly LlmMessage[]> {
    if (!messages.some(hasAddress)) return messages
    return Promise.all(
      messages.map(async (message): Promise<LlmMessage> => {
        if (!hasAddress(message)) return message
        const content = await Promise.all(message.content.map((part) => this.#part(part, signal)))
        return { ...message, content } as LlmMessage
      }),
    )
  }

  async #part(part: LlmText | LlmImage, signal: AbortSignal): Promise<LlmText | LlmImage> {
    if (!isAddress(part)) return part
    const url = await this.#get(part.url, signal)
    return url === null ? part : { type: 'image', url }
  }

  async #get(address: string, signal: AbortSignal): Promise<string | null> {
    const known = this.#kept.get(address)
    const isStale = known !== undefined && known.failedAt !== null && this.#now() - known.failedAt > FORGET_FAILURE_MS
    if (known !== undefined && !isStale) return known.url
    const kept: Kept = { url: Promise.resolve(null), chars: 0, failedAt: null }
    kept.url = this.#fetch(new URL(address), signal).then(
      (url) => {
        kept.chars = url.length
        this.#chars += url.length
        this.#makeRoom()
        return url
      },
      () => {
        // Called off is not failed.
        if (signal.aborted) this.#kept.delete(address)
        kept.failedAt = this.#now()
        return null
      },
    )
    this.#kept.delete(address)
    this.#kept.set(address, kept)
    return kept.url
  }

  #makeRoom(): void {
    for (const [address, { chars }] of this.#kept) {
      if (this.#chars <= MAX_KEPT_CHARS) return
      this.#kept.delete(address)
      this.#chars -= chars
    }
  }
}

const isAddress = (part: LlmText | LlmImage): part is LlmImage =>
  part.type === 'image' && /^https?:/i.test(part.url) && URL.canParse(part.url)
const hasAddress = ({ content }: LlmMessage): boolean => (content as readonly (LlmText | LlmImage)[]).some(isAddress)
