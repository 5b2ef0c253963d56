/** Wakes the sequences that wait: one look at the store serves all of them. */

/** Milliseconds between two looks. */
const LOOK_MS = 5
/** Longest time, in milliseconds, without a wake-up: the sequences have limits of their own. */
const LONGEST_MS = 1_000

export type Changes = Disposable & {
  /** Resolves at the next change, or after a second. Call it right after the look that found nothing. */
  next(): Promise<void>
  /** Reports a change that is not in the store. */
  report(): void
}

/** @param version changes with every commit */
export function watchChanges(version: () => number): Changes {
  let news = Promise.withResolvers<void>()
  let seen = version()
  let reportedAt = performance.now()

  function report(): void {
    reportedAt = performance.now()
    news.resolve()
    news = Promise.withResolvers()
  }

  const timer = setInterval(() => {
    const now = version()
    if (now === seen && performance.now() - reportedAt < LONGEST_MS) return
    seen = now
    report()
  }, LOOK_MS)
  return { next: () => news.promise, report, [Symbol.dispose]: () => clearInterval(timer) }
}
