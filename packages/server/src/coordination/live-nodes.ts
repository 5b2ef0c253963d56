/** The nodes that were alive a few seconds ago, for what depends on their number, and for what a node that has ended leaves. */
import type { Coordination } from './coordination.ts'

/** Milliseconds between two looks. */
const LOOK_MS = 5_000

export class LiveNodes implements AsyncDisposable {
  readonly #coordination: Pick<Coordination, 'nodes' | 'isShared' | 'node'>
  readonly #everyMs: number
  readonly #listeners = new Set<() => void>()
  #known: ReadonlySet<number>
  #looking: Promise<void> | null = null
  #timer: NodeJS.Timeout | undefined

  /** Looks at once, and then regularly, where other nodes may share the store. */
  constructor(coordination: Pick<Coordination, 'nodes' | 'isShared' | 'node'>, everyMs = LOOK_MS) {
    this.#coordination = coordination
    this.#everyMs = everyMs
    this.#known = new Set([coordination.node])
    if (!coordination.isShared) return
    this.#timer = setInterval(() => void this.look(), this.#everyMs).unref()
    void this.look()
  }

  /** Number of the nodes, at least 1. */
  get count(): number {
    return Math.max(1, this.#known.size)
  }

  /** Calls `listener` when a node is no longer alive, until disposal. */
  onEnded(listener: () => void): Disposable {
    this.#listeners.add(listener)
    return { [Symbol.dispose]: () => this.#listeners.delete(listener) }
  }

  /** Looks now. Never rejects: a failed look says nothing about the nodes. */
  look(): Promise<void> {
    return (this.#looking ??= this.#look().finally(() => {
      this.#looking = null
    }))
  }

  async #look(): Promise<void> {
    const found = await this.#coordination.nodes().catch(() => null)
    if (found === null) return
    const before = this.#known
    this.#known = new Set(found.map(({ n }) => n))
    if ([...before].some((n) => !this.#known.has(n))) for (const listener of this.#listeners) listener()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer)
    await this.#looking
  }
}
