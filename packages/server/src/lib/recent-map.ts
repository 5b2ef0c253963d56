/** Values by key, those that were used last, up to a total weight. The newest one is kept whatever its weight. */
export class RecentMap<Value> {
  /** The most recently used entry is the last. */
  readonly #entries = new Map<string, { value: Value; weight: number }>()
  readonly #most: number
  #weight = 0

  /** @param most the largest sum of weights */
  constructor(most: number) {
    this.#most = most
  }

  get size(): number {
    return this.#entries.size
  }

  get(key: string): Value | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    return entry.value
  }

  /** @param weight what the entry counts from now on; a value that grows is set again */
  set(key: string, value: Value, weight: number): void {
    this.#weight += weight - (this.#entries.get(key)?.weight ?? 0)
    this.#entries.delete(key)
    this.#entries.set(key, { value, weight })
    for (const [oldest, entry] of this.#entries) {
      if (this.#weight <= this.#most || oldest === key) break
      this.#entries.delete(oldest)
      this.#weight -= entry.weight
    }
  }
}
