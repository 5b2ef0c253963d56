/** Delivers the outbox to the stored targets, and follows changes of them. */
import type { Coordination } from '../coordination/index.ts'
import type { Log } from '../observability/index.ts'
import type { OutboxStore, StoredTarget, TargetStore } from '../storage/index.ts'
import { Channel, type ChannelDeps } from './channel.ts'
import { pruneRegularly } from './prune.ts'
import type { WebhookTarget } from './target.ts'

/** Milliseconds between two looks for changes of the targets by other processes, such as the command line. */
const CHECK_MS = 2_000

export type WebhookDeps = Omit<ChannelDeps, 'coordination' | 'log'> & {
  outbox: OutboxStore
  targets: TargetStore
  /** Reads a row. */
  open: (row: StoredTarget) => WebhookTarget
  coordination: Pick<Coordination, 'lead' | 'confirm' | 'tell' | 'on' | 'isShared' | 'node'>
  log: Pick<Log, 'warn' | 'error'>
}

export type Webhooks = AsyncDisposable & {
  /** True when there is a target, so that notifications are drafted. */
  hasTargets(): boolean
}

/**
 * Starts the delivery, beginning with what an earlier process left. It must resolve before the first commit, because it
 * loads the targets. Disposing aborts the running attempts; the next sender repeats them.
 */
export async function openWebhooks(deps: WebhookDeps): Promise<Webhooks> {
  const webhooks = new TargetChannels(deps)
  await webhooks.load()
  return webhooks
}

type Open = { version: number; channel: Channel }

class TargetChannels implements Webhooks {
  readonly #deps: WebhookDeps
  readonly #opened = new AsyncDisposableStack()
  readonly #channels = new Map<string, Open>()
  #version = 0
  #loading: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor(deps: WebhookDeps) {
    this.#deps = deps
    const { outbox, coordination, log } = deps
    const parkSurplus = async () => {
      await Promise.all(this.#all().map((channel) => channel.parkSurplus()))
    }
    const pruning = this.#opened.use(pruneRegularly({ outbox, coordination, parkSurplus, log }))
    this.#opened.defer(
      outbox.subscribe((change) => {
        for (const channel of this.#all()) channel.onChange(change)
        if (!change.deliveries) return
        pruning.count()
        if (this.#all().some((channel) => !channel.isSender)) coordination.tell('deliveries')
      }),
    )
    this.#opened.use(
      coordination.on('deliveries', () => {
        for (const channel of this.#all()) channel.wake()
      }),
    )
    this.#opened.use(coordination.on('targets', () => void this.#check()))
    const timer = setInterval(() => void this.#check(), CHECK_MS).unref()
    this.#opened.defer(() => clearInterval(timer))
  }

  hasTargets(): boolean {
    return this.#channels.size > 0
  }

  /** Reads the targets. One call at a time changes the channels. */
  load(): Promise<void> {
    const loading = this.#loading.catch(() => undefined).then(() => this.#load())
    this.#loading = loading
    return loading
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    await this.#loading.catch(() => undefined)
    await Promise.all(this.#all().map((channel) => channel[Symbol.asyncDispose]()))
    await this.#opened.disposeAsync()
  }

  #all(): Channel[] {
    return [...this.#channels.values()].map(({ channel }) => channel)
  }

  /** Reads the targets if they have changed. Never rejects; the next check repeats what failed. */
  async #check(): Promise<void> {
    try {
      if (this.#isClosed || (await this.#deps.targets.version()) === this.#version) return
      await this.load()
    } catch (error) {
      if (!this.#isClosed) this.#deps.log.error({ err: error }, 'webhook targets not read')
    }
  }

  async #load(): Promise<void> {
    if (this.#isClosed) return
    const { targets: rows, version } = await this.#deps.targets.load()
    const versions = new Map(rows.map((row) => [row.name, row.version]))
    for (const [name, open] of this.#channels) {
      if (versions.get(name) === open.version) continue
      this.#channels.delete(name)
      await open.channel[Symbol.asyncDispose]()
    }
    for (const row of rows) {
      if (this.#channels.has(row.name)) continue
      const channel = new Channel(this.#deps.open(row), this.#deps)
      this.#channels.set(row.name, { version: row.version, channel })
    }
    this.#version = version
  }
}
