/** Which rows are open, which one was used last, and ways to move among them. It outlives the mounted rows. No React. */
import type { Place } from './scroll.ts'

export class RowStates {
  readonly #toggled = new Map<string, boolean>()
  readonly #listeners = new Set<() => void>()
  readonly #brief = new Set<string>()
  #current = ''
  /** Brings the row of an event into view. Set by the timeline that is shown. */
  goTo: (seq: number) => void = () => {}
  /** Where the person reads; null at the end. Set by the timeline that is shown. */
  place: () => Place | null = () => null

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

  /** Opens the row of a call that runs, for a few lines of its output, unless a person has opened or closed it. */
  openBriefly(key: string, actionId: string): void {
    if (this.#toggled.has(key)) return
    this.#brief.add(actionId)
    this.set(key, true)
  }

  /** True for a call whose row opened by itself. */
  readonly isBrief = (actionId: string): boolean => this.#brief.has(actionId)

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
