/** What goes on beside a conversation's run and does not outlive it in memory: questions to its agent, the making of its title. */
export class Errands {
  readonly #end = new AbortController()
  readonly #going = new Set<Promise<unknown>>()

  get isEmpty(): boolean {
    return this.#going.size === 0
  }

  /** Does `work` until it is done, the caller's signal aborts, or all errands end. */
  run<T>(work: (signal: AbortSignal) => Promise<T>, signal?: AbortSignal): Promise<T> {
    const own = signal === undefined ? this.#end.signal : AbortSignal.any([signal, this.#end.signal])
    const going = (async () => {
      own.throwIfAborted()
      return await work(own)
    })()
    const settled = going.then(
      () => undefined,
      () => undefined,
    )
    this.#going.add(settled)
    void settled.then(() => this.#going.delete(settled))
    return going
  }

  /** Cancels all of them, those that come later too, and waits for their end. */
  async close(reason: Error): Promise<void> {
    this.#end.abort(reason)
    await Promise.all(this.#going)
  }
}
