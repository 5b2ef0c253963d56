/**
 * Output of commands that run, on its way to watchers, without secrets. Source: agent-core.md 11.6.
 *
 * Invariants
 *   L1. Pieces are sent in the order of arrival, and all of them before the result of the call is stored.
 *   L2. Nothing is sent before the secret values are known, and a secret that is cut by the border of two pieces is masked.
 *   L3. Of a call the last `KEPT_CHARS` are kept for a watcher that joins, and nothing after its end. Without watchers they are kept as
 *       they came, and no secret is loaded for them.
 */
import type { EventId } from '@parley/protocol'
import type { Masker, MaskStream } from '../../secrets/index.ts'
import type { Channel, LiveSource } from './channel.ts'

const KEPT_CHARS = 64 * 1024
/**
 * Characters kept while no client watches. More than are shown: the beginning may be the second half of a secret, which is not recognised
 * after the first half is gone.
 */
const KEPT_UNMASKED_CHARS = 3 * KEPT_CHARS

type To = Pick<Channel, 'watchers' | 'begin'>

export class LiveOutputs {
  readonly #channel: To
  readonly #masker: () => Promise<Masker>
  readonly #calls = new Map<EventId, CommandOutput>()

  /** `masker`: called once per call, and only when there are watchers. */
  constructor(channel: To, masker: () => Promise<Masker>) {
    this.#channel = channel
    this.#masker = masker
  }

  /** Takes a piece of the output of a call. Returns at once. */
  add(call: EventId, text: string): void {
    let output = this.#calls.get(call)
    if (output === undefined) {
      output = new CommandOutput(call, this.#channel, this.#masker)
      this.#calls.set(call, output)
    }
    output.add(text)
  }

  /** The call has ended: sends the text that was held back. */
  async end(call: EventId): Promise<void> {
    const output = this.#calls.get(call)
    this.#calls.delete(call)
    await output?.end()
  }
}

class CommandOutput {
  readonly #call: EventId
  readonly #channel: To
  readonly #masker: () => Promise<Masker>
  readonly #source: LiveSource
  #stream: Promise<MaskStream> | null = null
  #queue: Promise<void> = Promise.resolve()
  /** Text that is not masked yet. */
  #early = ''
  /** The newest masked text, and the characters before it. */
  #tail = ''
  #offset = 0

  constructor(call: EventId, channel: To, masker: () => Promise<Masker>) {
    this.#call = call
    this.#channel = channel
    this.#masker = masker
    this.#source = channel.begin((ready) => {
      this.#show()
      this.#then(() => ready(this.#kept()))
      // Text that cannot be masked is not shown.
      this.#queue = this.#queue.then(() => ready(null))
    })
  }

  add(text: string): void {
    this.#early += text
    if (this.#channel.watchers > 0 || this.#stream !== null) return this.#show()
    if (this.#early.length <= 2 * KEPT_UNMASKED_CHARS) return
    const cut = this.#early.length - KEPT_UNMASKED_CHARS
    this.#early = this.#early.slice(cut)
    this.#offset += cut
  }

  async end(): Promise<void> {
    if (this.#stream !== null) this.#then((stream) => this.#emit(stream.end()))
    await this.#queue
    this.#source.end()
  }

  #show(): void {
    const text = this.#early
    this.#early = ''
    this.#then((stream) => this.#emit(stream.write(text)))
  }

  #then(work: (stream: MaskStream) => void): void {
    const stream = (this.#stream ??= this.#masker().then((masker) => masker.stream()))
    this.#queue = this.#queue.then(async () => work(await stream)).catch(() => undefined)
  }

  #emit(text: string): void {
    if (text === '') return
    const offset = this.#offset + this.#tail.length
    this.#tail += text
    if (this.#tail.length > 2 * KEPT_CHARS) this.#keepLast()
    this.#source.emit(this.#item(offset, text))
  }

  #kept() {
    this.#keepLast()
    return this.#tail === '' ? null : this.#item(this.#offset, this.#tail)
  }

  #keepLast(): void {
    const cut = Math.max(0, this.#tail.length - KEPT_CHARS)
    this.#tail = this.#tail.slice(cut)
    this.#offset += cut
  }

  #item(offset: number, text: string) {
    return { kind: 'output' as const, action_id: this.#call, stream: 'stdout' as const, offset, text }
  }
}
