import { abortable } from './abort.ts'

export type Shares = {
  /** Slots in all. */
  count: number
  /** Most slots of one user; default: all that are not reserved. */
  mostOf?: (user: string) => number
  /** Slots that only users who hold none may take; default 0. */
  reserved?: number
}

type User = {
  held: number
  /** Requests that wait, oldest first, by their place among the requests of all users. */
  waiting: Map<number, () => void>
}

/**
 * Semaphore shared by users. A free slot goes to the waiting user who holds the fewest, and among equals to the oldest request;
 * requests of one user are granted in their order.
 *
 * Invariants
 *   F1. A user never holds more than `mostOf` slots.
 *   F2. A slot is free while a request waits only if its user may not take it: for F1, or because it is reserved.
 *   F3. No user is granted a slot while another user who may take it holds fewer.
 */
export class FairSlots {
  readonly #users = new Map<string, User>()
  readonly #mostOf: (user: string) => number
  readonly #reserved: number
  /** Slots in all. */
  readonly count: number
  #free: number
  #requests = 0

  constructor({ count, mostOf = () => Infinity, reserved = 0 }: Shares) {
    this.count = count
    this.#free = count
    this.#mostOf = mostOf
    this.#reserved = reserved
  }

  /** Slots that a user holds, and requests of the user that wait for one. */
  of(user: string): { held: number; waiting: number } {
    const known = this.#users.get(user)
    return { held: known?.held ?? 0, waiting: known?.waiting.size ?? 0 }
  }

  /** Slots that all users hold, and requests that wait for one. */
  total(): { held: number; waiting: number } {
    let [held, waiting] = [0, 0]
    for (const user of this.#users.values()) {
      held += user.held
      waiting += user.waiting.size
    }
    return { held, waiting }
  }

  /** Waits for a slot of the user, which disposal gives back. Rejects with the signal's reason when it aborts. */
  async take(name: string, signal: AbortSignal): Promise<Disposable> {
    const user = this.#users.get(name) ?? { held: 0, waiting: new Map() }
    this.#users.set(name, user)
    const { promise, resolve } = Promise.withResolvers<void>()
    const request = this.#requests++
    user.waiting.set(request, resolve)
    this.#grant()
    try {
      await abortable(promise, signal)
    } catch (error) {
      if (!user.waiting.delete(request)) this.#giveBack(name, user)
      this.#forget(name, user)
      throw error
    }
    let isHeld = true
    return {
      [Symbol.dispose]: () => {
        if (isHeld) this.#giveBack(name, user)
        isHeld = false
      },
    }
  }

  #giveBack(name: string, user: User): void {
    user.held -= 1
    this.#free += 1
    this.#forget(name, user)
    this.#grant()
  }

  #forget(name: string, { held, waiting }: User): void {
    if (held === 0 && waiting.size === 0) this.#users.delete(name)
  }

  #grant(): void {
    for (let user = this.#next(); user !== null; user = this.#next()) {
      const [request, grant] = user.waiting.entries().next().value!
      user.waiting.delete(request)
      user.held += 1
      this.#free -= 1
      grant()
    }
  }

  /** The user who gets the next slot; null when no waiting user may take one. */
  #next(): User | null {
    if (this.#free === 0) return null
    let chosen: User | null = null
    for (const [name, user] of this.#users) {
      if (user.waiting.size === 0 || user.held >= this.#mostOf(name)) continue
      if (user.held > 0 && this.#free <= this.#reserved) continue
      if (chosen === null || user.held < chosen.held || (user.held === chosen.held && first(user) < first(chosen)))
        chosen = user
    }
    return chosen
  }
}

const first = ({ waiting }: User): number => waiting.keys().next().value!
