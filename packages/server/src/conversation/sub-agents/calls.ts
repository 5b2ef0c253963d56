/** Calls in execution, by their conversation. */
import type { ConversationId } from '@parley/protocol'

export class Calls {
  readonly #active = new Map<ConversationId, Set<Promise<void>>>()

  /** Executes a call and resolves with its result. */
  perform<T>(of: ConversationId, work: () => Promise<T>): Promise<T> {
    const active = this.#active.get(of) ?? new Set()
    this.#active.set(of, active)
    const result = work()
    const settled = result.then(
      () => undefined,
      () => undefined,
    )
    active.add(settled)
    void settled.then(() => {
      active.delete(settled)
      if (active.size === 0 && this.#active.get(of) === active) this.#active.delete(of)
    })
    return result
  }

  /** Resolves when the calls in execution have ended, or after `timeoutMs`. */
  async settled(of: ConversationId, timeoutMs: number): Promise<void> {
    const active = this.#active.get(of)
    if (active === undefined) return
    const timeout = Promise.withResolvers<void>()
    const timer = setTimeout(timeout.resolve, timeoutMs)
    timer.unref()
    await Promise.race([Promise.all(active), timeout.promise])
    clearTimeout(timer)
  }
}
