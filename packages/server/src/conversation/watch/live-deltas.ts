/**
 * Pieces of an answer on their way to watchers, without secrets: text that may be the beginning of a secret is held back until
 * the next pieces decide. Source: agent-core.md 11.6, F19.
 *
 * Invariants
 *   D1. Pieces are sent in the order of arrival, and all of them before the complete answer is stored.
 *   D2. Nothing is sent before the secret values are known.
 */
import type { LlmDelta } from '../../llm/index.ts'
import type { Masker, MaskStream } from '../../secrets/index.ts'
import type { Channel } from './channel.ts'

const MEMBERS = ['reasoning_content', 'content'] as const
type Member = (typeof MEMBERS)[number]
type Streams = Readonly<Record<Member, MaskStream>>

export class LiveDeltas {
  readonly #channel: Pick<Channel, 'watchers' | 'emit'>
  readonly #masker: () => Promise<Masker>
  #streams: Promise<Streams> | null = null
  #queue: Promise<void> = Promise.resolve()
  #last: Member | null = null

  /** `masker`: called once per answer, and only when there are watchers. */
  constructor(channel: Pick<Channel, 'watchers' | 'emit'>, masker: () => Promise<Masker>) {
    this.#channel = channel
    this.#masker = masker
  }

  /** Takes a piece. Returns at once. */
  take(delta: LlmDelta): void {
    if (this.#streams === null && this.#channel.watchers === 0) return
    const streams = (this.#streams ??= this.#open())
    // Text that cannot be masked is not sent; storing the answer itself fails with the same error.
    this.#queue = this.#queue.then(async () => this.#show(delta, await streams)).catch(() => undefined)
  }

  /** Ends the answer: sends the text that was held back. The next piece begins another answer. */
  async end(): Promise<void> {
    if (this.#streams === null) return
    const streams = this.#streams
    this.#streams = null
    this.#queue = this.#queue.then(async () => this.#flush(await streams)).catch(() => undefined)
    await this.#queue
  }

  async #open(): Promise<Streams> {
    const masker = await this.#masker()
    return { content: masker.stream(), reasoning_content: masker.stream() }
  }

  #show(delta: LlmDelta, streams: Streams): void {
    for (const member of MEMBERS) {
      const piece = delta[member]
      if (piece === undefined) continue
      if (this.#last !== null && this.#last !== member) this.#emit(this.#last, streams[this.#last].end())
      this.#last = member
      this.#emit(member, streams[member].write(piece))
    }
  }

  #flush(streams: Streams): void {
    for (const member of MEMBERS) this.#emit(member, streams[member].end())
    this.#last = null
  }

  #emit(member: Member, text: string): void {
    if (text !== '') this.#channel.emit({ kind: 'delta', delta: { [member]: text } })
  }
}
