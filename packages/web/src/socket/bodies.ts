/** Loads the events of rows that are visible, in runs of neighbours. */

/** Events of one request. */
const RUN = 100
/** Requests at a time. */
const AT_ONCE = 3

export type Load = (first: number, last: number) => Promise<void>

export class BodyLoader {
  readonly #load: Load
  readonly #isLoaded: (seq: number) => boolean
  #wanted: readonly number[] = []
  readonly #busy = new Set<number>()
  readonly #failed = new Map<number, string>()
  #running = 0

  /** @param load loads an inclusive range; rejects with a sentence for people */
  constructor(load: Load, isLoaded: (seq: number) => boolean) {
    this.#load = load
    this.#isLoaded = isLoaded
  }

  /** Loads what is missing of `seqs`. What was wanted before and is not being loaded yet is left out. */
  want(seqs: readonly number[]): void {
    this.#wanted = seqs
    this.#next()
  }

  /** Why the event at `seq` could not be loaded; undefined when it was not tried, or is loaded. */
  failureOf(seq: number): string | undefined {
    return this.#failed.get(seq)
  }

  /** Loads an event that failed again. */
  retry(seq: number): void {
    this.#failed.clear()
    this.want([seq, ...this.#wanted])
  }

  #next(): void {
    while (this.#running < AT_ONCE) {
      const run = runOf(this.#wanted.filter((seq) => seq > 0 && !this.#isKnown(seq)))
      if (run === null) return
      void this.#fetch(...run)
    }
  }

  #isKnown = (seq: number) => this.#isLoaded(seq) || this.#busy.has(seq) || this.#failed.has(seq)

  async #fetch(first: number, last: number): Promise<void> {
    const seqs = Array.from({ length: last - first + 1 }, (_, index) => first + index)
    for (const seq of seqs) this.#busy.add(seq)
    this.#running++
    try {
      await this.#load(first, last)
      for (const seq of seqs) if (!this.#isLoaded(seq)) this.#failed.set(seq, '')
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      for (const seq of seqs) this.#failed.set(seq, reason)
    } finally {
      for (const seq of seqs) this.#busy.delete(seq)
      this.#running--
      this.#next()
    }
  }
}

/** The range around the first wanted `seq` that has the most of its neighbours; null when nothing is wanted. */
export function runOf(seqs: readonly number[]): [first: number, last: number] | null {
  const [first] = seqs
  if (first === undefined) return null
  const near = seqs.filter((seq) => Math.abs(seq - first) < RUN).sort((a, b) => a - b)
  const from = near.find((seq) => seq > first - RUN) ?? first
  const to = near.findLast((seq) => seq < from + RUN) ?? first
  return to < first ? [first, first] : [from, to]
}
