/** Notices that a node has ended, or hangs, while something waits for it. Without waiting requests nothing is asked. */
import type { Coordination } from '../../coordination/index.ts'
import type { Log } from '../../observability/index.ts'
import type { NodeNumber } from '../../storage/index.ts'

/** Milliseconds between two looks at the nodes that are alive. */
const LOOK_MS = 1000
/** Looks in a row without a node after which it counts as lost: after a restart of the store all nodes come back one by one. */
const MISSED = 2

type Waiting = { missed: number; ends: Set<() => void> }

export class NodeWatch implements Disposable {
  readonly #coordination: Pick<Coordination, 'node' | 'nodes'>
  readonly #log: Pick<Log, 'warn'>
  readonly #waiting = new Map<NodeNumber, Waiting>()
  #timer: NodeJS.Timeout | undefined

  constructor(coordination: Pick<Coordination, 'node' | 'nodes'>, log: Pick<Log, 'warn'>) {
    this.#coordination = coordination
    this.#log = log
  }

  /** Calls `lost` once when the node is no longer alive, until disposal. */
  guard(node: NodeNumber, lost: () => void): Disposable {
    const waiting = this.#waiting.get(node) ?? { missed: 0, ends: new Set() }
    this.#waiting.set(node, waiting)
    waiting.ends.add(lost)
    this.#timer ??= setInterval(() => void this.#look(), LOOK_MS).unref()
    return {
      [Symbol.dispose]: () => {
        waiting.ends.delete(lost)
        if (waiting.ends.size === 0 && this.#waiting.get(node) === waiting) this.#forget(node)
      },
    }
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#waiting.clear()
  }

  /** Never rejects: without the store nothing is known about a node. */
  async #look(): Promise<void> {
    try {
      const alive = new Set((await this.#coordination.nodes()).map(({ n }) => n))
      // A node that has lost its own session knows nothing about others.
      if (!alive.has(this.#coordination.node)) return
      for (const [node, waiting] of this.#waiting) {
        waiting.missed = alive.has(node) ? 0 : waiting.missed + 1
        if (waiting.missed < MISSED) continue
        this.#log.warn({ node, waiting: waiting.ends.size }, 'node lost, its forwarded requests end')
        this.#forget(node)
        for (const end of waiting.ends) end()
      }
    } catch (err) {
      this.#log.warn({ err }, 'nodes not looked up')
    }
  }

  #forget(node: NodeNumber): void {
    this.#waiting.delete(node)
    if (this.#waiting.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
