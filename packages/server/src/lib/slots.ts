import { abortable } from './abort.ts'

/** Semaphore that grants its slots in the order of the requests. */
export class Slots {
  readonly #waiting: (() => void)[] = []
  #free: number

  constructor(count: number) {
    this.#free = count
  }

  /** Waits for a slot, which disposal gives back. Rejects with the signal's reason when it aborts. */
  async take(signal: AbortSignal): Promise<Disposable> {
    if (this.#free > 0) {
      this.#free -= 1
      return this.#place()
    }
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting.push(resolve)
    try {
      await abortable(promise, signal)
    } catch (error) {
      const index = this.#waiting.indexOf(resolve)
      if (index === -1) this.#give()
      else this.#waiting.splice(index, 1)
      throw error
    }
    return this.#place()
  }

  #place(): Disposable {
    let isHeld = true
    return {
      [Symbol.dispose]: () => {
        if (isHeld) this.#give()
        isHeld = false
      },
    }
  }

  #give(): void {
    const nextInLine = this.#waiting.shift()
    if (nextInLine === undefined) this.#free += 1
    else nextInLine()
  }
}
