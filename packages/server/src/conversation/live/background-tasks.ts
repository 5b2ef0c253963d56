/** Work beside a conversation's run that ends when it leaves memory: questions to its agent, the making of its title. */
export class BackgroundTasks {
  readonly #end = new AbortController()
  readonly #active = new Set<Promise<unknown>>()

  get isEmpty(): boolean {
    return this.#active.size === 0
  }

  /** Runs `work` until it ends, the caller's signal aborts, or all tasks are closed. */
  run<T>(work: (signal: AbortSignal) => Promise<T>, signal?: AbortSignal): Promise<T> {
    const own = signal === undefined ? this.#end.signal : AbortSignal.any([signal, this.#end.signal])
    const task = (async () => {
      own.throwIfAborted()
      return await work(own)
    })()
    const settled = task.then(
      () => undefined,
      () => undefined,
    )
    this.#active.add(settled)
    void settled.then(() => this.#active.delete(settled))
    return task
  }

  /** Cancels all tasks, later ones too, and waits for their end. */
  async close(reason: Error): Promise<void> {
    this.#end.abort(reason)
    await Promise.all(this.#active)
  }
}
