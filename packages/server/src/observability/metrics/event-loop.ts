import type { Histogram } from './families.ts'

/** Milliseconds between two measurements. */
const INTERVAL_MS = 100

/** Measures how late a timer is, until disposal. The timer does not keep the process alive. */
export function watchEventLoop(delays: Pick<Histogram, 'observe'>): Disposable {
  let due = performance.now() + INTERVAL_MS
  const timer = setInterval(() => {
    const now = performance.now()
    delays.observe(Math.max(0, now - due) / 1000)
    due = now + INTERVAL_MS
  }, INTERVAL_MS).unref()
  return { [Symbol.dispose]: () => clearInterval(timer) }
}
