/**
 * Pieces of an answer on their way to watchers, without secrets: text that may be the beginning of a secret is held back until
 * the next pieces decide. Source: agent-core.md 11.6, F19.
 *
 * Invariants
 *   D1. Pieces are sent in the order of arrival, and all of them before the complete answer is stored.
 *   D2. Nothing is sent before the secret values are known.
 *   D3. Without watchers, pieces are kept as they came, and no secret is loaded for them. A watcher that joins gets the answer so far,
 *       and then what follows it, without a gap.
 *   D4. Of a part at most twice `MAX_CHARS` are kept, of a longer one its end.
 */
import { newEventId } from '@parley/protocol'
import type { LlmDelta } from '../../llm/index.ts'
import type { Masker, MaskStream } from '../../secrets/index.ts'
import type { PartialPart } from '../conversations.ts'
import type { Channel, Join, LiveSource } from './channel.ts'

const MEMBERS = ['reasoning_content', 'content'] as const
type Member = (typeof MEMBERS)[number]
type Streams = Readonly<Record<Member, MaskStream>> & { masker: Masker }

/** Characters kept of one part, and of pieces that are not masked yet. */
const MAX_CHARS = 1024 * 1024
/** Parts and calls kept of one answer. */
const MAX_PARTS = 256

type Call = { name: string; chars: number }
type To = Pick<Channel, 'watchers' | 'begin'>

export class LiveDeltas {
  readonly #channel: To
  readonly #masker: () => Promise<Masker>
  #answer: Answer | null = null
  #queue: Promise<void> = Promise.resolve()

  /** `masker`: called once per answer, and only when there are watchers. */
  constructor(channel: To, masker: () => Promise<Masker>) {
    this.#channel = channel
    this.#masker = masker
  }

  /** Takes a piece. Returns at once. */
  take(delta: LlmDelta): void {
    const answer = (this.#answer ??= this.#begin())
    answer.keep(delta)
    answer.earlyChars += (delta.content?.length ?? 0) + (delta.reasoning_content?.length ?? 0)
    if (this.#channel.watchers === 0 && answer.streams === null && answer.earlyChars <= MAX_CHARS) return
    this.#show(answer)
  }

  /** Ends the answer: sends the text that was held back. The next piece begins another answer. */
  async end(): Promise<void> {
    const answer = this.#answer
    if (answer === null) return
    this.#answer = null
    if (answer.streams === null) answer.early.length = 0
    else this.#then(answer, (streams) => answer.flush(streams))
    await this.#queue
    answer.source.end()
  }

  #begin(): Answer {
    const answer: Answer = new Answer((ready) => {
      this.#show(answer)
      this.#then(answer, () => ready(answer.partial()))
      // Text that cannot be masked is not shown, but the watcher gets what comes after it.
      this.#queue = this.#queue.then(() => ready(null))
    }, this.#channel)
    return answer
  }

  /** Shows the pieces that have come. */
  #show(answer: Answer): void {
    const pieces = answer.early
    answer.early = []
    answer.earlyChars = 0
    this.#then(answer, (streams) => {
      for (const delta of pieces) answer.show(delta, streams)
    })
  }

  /** Runs `work` after all earlier work. Text that cannot be masked is not sent; storing the answer itself fails with the same error. */
  #then(answer: Answer, work: (streams: Streams) => void): void {
    const streams = (answer.streams ??= this.#open())
    this.#queue = this.#queue.then(async () => work(await streams)).catch(() => undefined)
  }

  async #open(): Promise<Streams> {
    const masker = await this.#masker()
    return { masker, content: masker.stream(), reasoning_content: masker.stream() }
  }
}

/** One answer: the part that was shown, and what arrived while no client watched. */
class Answer {
  readonly source: LiveSource
  readonly #id = newEventId()
  readonly #parts: PartialPart[] = []
  readonly #calls: Call[] = []
  #part = -1
  #last: Member | null = null
  streams: Promise<Streams> | null = null
  early: LlmDelta[] = []
  earlyChars = 0

  constructor(join: Join, channel: To) {
    this.source = channel.begin(join)
  }

  partial() {
    return {
      kind: 'partial' as const,
      response_id: this.#id,
      parts: this.#parts.map((part) => ({ ...part })),
      tool_calls: this.#calls.map((call, index) => ({ index, ...call })),
    }
  }

  /** Keeps a piece as it came; consecutive ones of a kind become one. */
  keep(delta: LlmDelta): void {
    const last = this.early.at(-1)
    for (const member of MEMBERS) {
      const piece = delta[member]
      if (piece === undefined || last?.[member] === undefined || Object.keys({ ...last, ...delta }).length > 1) continue
      last[member] += piece
      return
    }
    this.early.push({ ...delta })
  }

  show(delta: LlmDelta, streams: Streams): void {
    for (const member of MEMBERS) {
      const piece = delta[member]
      if (piece === undefined) continue
      if (this.#last !== member) this.#begin(member, streams)
      this.#emit(member, streams[member].write(piece))
    }
    if (delta.tool_call !== undefined) this.#call(delta.tool_call, streams)
  }

  flush(streams: Streams): void {
    if (this.#last !== null) this.#emit(this.#last, streams[this.#last].end())
    this.#last = null
  }

  #begin(member: Member, streams: Streams): void {
    this.flush(streams)
    this.#last = member
    this.#part += 1
  }

  #call({ index, name, chars }: NonNullable<LlmDelta['tool_call']>, streams: Streams): void {
    this.flush(streams)
    if (index >= MAX_PARTS) return
    const shown = { name: streams.masker.text(name), chars }
    this.#calls[index] = shown
    this.source.emit({ kind: 'tool_call', response_id: this.#id, index, ...shown })
  }

  #emit(member: Member, text: string): void {
    if (text === '') return
    const part = this.#part
    let kept = this.#parts.at(-1)
    if (kept?.part !== part) {
      kept = { part, kind: member, offset: 0, text: '' }
      this.#parts.push(kept)
      if (this.#parts.length > MAX_PARTS) this.#parts.shift()
    }
    const offset = kept.offset + kept.text.length
    kept.text += text
    const excess = kept.text.length - MAX_CHARS
    // Not at each piece, because a cut copies the text.
    if (excess > MAX_CHARS) {
      kept.text = kept.text.slice(excess)
      kept.offset += excess
    }
    this.source.emit({ kind: 'delta', delta: { [member]: text }, response_id: this.#id, part, offset })
  }
}
