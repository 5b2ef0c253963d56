/**
 * Downloads images and puts them into the request, for models that do not accept image addresses. Source: agent-core.md
 * 10.10.
 */
import type { LlmImage, LlmMessage, LlmText } from '../llm.ts'
import type { Agents } from '../../egress/index.ts'
import { fetchImage } from './fetch-image.ts'

/** Limit of the cache, in characters of data URLs. The cache saves a download with each request. */
const MAX_KEPT_CHARS = 64 * 1024 * 1024
/** Milliseconds before a failed download is tried again. */
const FORGET_FAILURE_MS = 5 * 60_000

type Kept = { url: Promise<string | null>; chars: number; failedAt: number | null }

export type ImagesDeps = {
  agents: Agents
  /** Milliseconds. */
  now?: () => number
}

/** Cache of the images of one process. The oldest are dropped first. */
export class Images {
  readonly #kept = new Map<string, Kept>()
  readonly #agents: Agents
  readonly #now: () => number
  #chars = 0

  constructor({ agents, now = Date.now }: ImagesDeps) {
    this.#agents = agents
    this.#now = now
  }

  /**
   * Returns the messages with their images inline; an image that cannot be downloaded keeps its address. The given
   * messages are
   * not changed.
   */
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
    kept.url = fetchImage(new URL(address), signal, this.#agents).then(
      (url) => {
        kept.chars = url.length
        this.#chars += url.length
        this.#evict()
        return url
      },
      () => {
        // An aborted download does not count as failed.
        if (signal.aborted) this.#kept.delete(address)
        kept.failedAt = this.#now()
        return null
      },
    )
    this.#kept.delete(address)
    this.#kept.set(address, kept)
    return kept.url
  }

  #evict(): void {
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
