/** Runs tasks one at a time, in the order of their arrival. A failed task rejects for its own caller only. */
export class Mailbox {
  #last: Promise<unknown> = Promise.resolve()
  #waiting = 0

  get isEmpty(): boolean {
    return this.#waiting === 0
  }

  run<T>(work: () => Promise<T>): Promise<T> {
    this.#waiting += 1
    const result = this.#last.then(work).finally(() => {
      this.#waiting -= 1
    })
    this.#last = result.catch(() => undefined)
    return result
  }
}
