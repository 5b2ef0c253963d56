/** Calls that are being performed, by the conversation that they are for. */
import type { ConversationId } from '@parley/protocol'

export class Calls {
  readonly #going = new Map<ConversationId, Set<Promise<void>>>()

  /** Performs a call and resolves with what comes of it. */
  perform<T>(of: ConversationId, work: () => Promise<T>): Promise<T> {
    const going = this.#going.get(of) ?? new Set()
    this.#going.set(of, going)
    const result = work()
    const settled = result.then(
      () => undefined,
      () => undefined,
    )
    going.add(settled)
    void settled.then(() => {
      going.delete(settled)
      if (going.size === 0 && this.#going.get(of) === going) this.#going.delete(of)
    })
    return result
  }

  /** Resolves when the calls that are performed now have ended, or after `timeoutMs`. */
  async settled(of: ConversationId, timeoutMs: number): Promise<void> {
    const going = this.#going.get(of)
    if (going === undefined) return
    const timeout = Promise.withResolvers<void>()
    const timer = setTimeout(timeout.resolve, timeoutMs)
    timer.unref()
    await Promise.race([Promise.all(going), timeout.promise])
    clearTimeout(timer)
  }
}
