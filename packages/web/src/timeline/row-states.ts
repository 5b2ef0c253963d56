/** Which rows are open, and which one was used last. It outlives the mounted rows. No React. */
export class RowStates {
  readonly #toggled = new Map<string, boolean>()
  readonly #listeners = new Set<() => void>()
  #current = ''

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** True for an open row. `byDefault`: what it is before a person changed it. */
  isOpen(key: string, byDefault = false): boolean {
    return this.#toggled.get(key) ?? byDefault
  }

  set(key: string, isOpen: boolean): void {
    this.#toggled.set(key, isOpen)
    this.#tell()
  }

  /** Key of the row that has the focus, or had it last; empty at first. */
  readonly current = (): string => this.#current

  setCurrent(key: string): void {
    if (this.#current === key) return
    this.#current = key
    this.#tell()
  }

  #tell(): void {
    for (const listener of this.#listeners) listener()
  }
}
