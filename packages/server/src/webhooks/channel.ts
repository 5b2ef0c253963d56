/**
 * The way of deliveries to one target. Every node cuts the batches of what it commits; one node at a time sends.
 *
 * Invariants
 *   C1. The sender of a target runs on the node that leads its name, and every other node tells that one of new deliveries.
 *   C2. What a node that has ended left uncut is cut by the sender's node, when it begins to lead and when a node has ended.
 */
import { aborted, sleep } from '../lib/index.ts'
import type { Coordination, LiveNodes } from '../coordination/index.ts'
import type { OutboxChange, OutboxStore, SenderTerm } from '../storage/index.ts'
import { Batches, type BatchDeps } from './batches.ts'
import { Sender, type SenderDeps } from './sender.ts'
import type { WebhookTarget } from './target.ts'

/** Milliseconds between two reads of due deliveries beside other nodes, whose messages may be lost. */
const LOOK_MS = 1_000
/** Milliseconds before the leadership is recorded again after the store failed. */
const STORE_PAUSE_MS = 1_000

export type ChannelDeps = Omit<SenderDeps, 'target' | 'term' | 'confirm' | 'onBatchEnd'> & {
  coordination: Pick<Coordination, 'lead' | 'confirm' | 'isShared' | 'node'>
  nodes: LiveNodes
  outbox: OutboxStore
}

export class Channel implements AsyncDisposable {
  readonly #target: WebhookTarget
  readonly #deps: ChannelDeps
  readonly #batches: Batches | null
  readonly #leading: AsyncDisposable
  #sender: Sender | null = null

  constructor(target: WebhookTarget, deps: ChannelDeps) {
    this.#target = target
    this.#deps = deps
    const own: BatchDeps = { target, outbox: deps.outbox, log: deps.log }
    this.#batches = target.events ? new Batches(own) : null
    this.#leading = deps.coordination.lead(`webhooks:${target.base_url}`, (signal) => this.#lead(signal))
  }

  /** True while this node sends. */
  get isSender(): boolean {
    return this.#sender !== null
  }

  /** Takes note of a commit of this node. */
  onChange({ conversation_id: id, deliveries, events, isOver }: OutboxChange): void {
    if (deliveries) this.wake()
    if (id !== null && (events > 0 || isOver)) this.#batches?.onAppend(id, events, isOver)
  }

  /** Sends what is due, if this node is the sender. */
  wake(): void {
    this.#sender?.wake()
  }

  /** Parks what waits beyond the bounds, if this node is the sender. */
  async parkSurplus(): Promise<void> {
    await this.#sender?.parkSurplus()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#leading[Symbol.asyncDispose]()
    await this.#batches?.[Symbol.asyncDispose]()
  }

  async #lead(signal: AbortSignal): Promise<void> {
    const term = await this.#term(signal)
    if (term === null) return
    const { coordination, nodes, log } = this.#deps
    const sender = new Sender({
      ...this.#deps,
      target: this.#target,
      term,
      confirm: (until) => coordination.confirm(until),
      onBatchEnd: (id) => this.#batches?.onBatchEnd(id),
    })
    this.#sender = sender
    const resume = () =>
      void this.#batches?.resume().catch((error: unknown) => {
        if (!signal.aborted) log.error({ err: error, target: this.#target.base_url }, 'webhook batches not resumed')
      })
    using _ended = nodes.onEnded(resume)
    sender.wake()
    void this.parkSurplus().catch((error: unknown) => log.error({ err: error }, 'webhook deliveries not parked'))
    resume()
    const look = () => {
      if (nodes.count > 1) sender.wake()
    }
    const timer = coordination.isShared ? setInterval(look, LOOK_MS).unref() : undefined
    await aborted(signal)
    clearInterval(timer)
    this.#sender = null
    await sender[Symbol.asyncDispose]()
  }

  /** Null when the leadership ended first. */
  async #term(signal: AbortSignal): Promise<SenderTerm | null> {
    const { outbox, coordination, log, storePauseMs = STORE_PAUSE_MS } = this.#deps
    while (!signal.aborted) {
      try {
        return await outbox.lead(this.#target.base_url, coordination.node)
      } catch (error) {
        log.error({ err: error, target: this.#target.base_url }, 'sender of a webhook target not recorded')
        await sleep(storePauseMs, signal).catch(() => undefined)
      }
    }
    return null
  }
}
