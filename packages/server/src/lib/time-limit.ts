/** Milliseconds by which a timer may fire late on a busy machine. A later one means that the process did not run meanwhile. */
const LATE_MS = 1_000
/** Milliseconds to read what arrived while the process did not run. */
const CATCH_UP_MS = 10_000

/**
 * Calls `onPassed` after `ms` milliseconds, unless it is disposed before. After this process was stopped, or its machine suspended,
 * timers fire before sockets are read; the limit is then extended by ten seconds, so that an answer that has arrived counts.
 */
export function timeLimit(ms: number, onPassed: () => void): Disposable {
  let timer: NodeJS.Timeout
  const arm = (waitMs: number): void => {
    const due = performance.now() + waitMs
    timer = setTimeout(() => {
      if (performance.now() - due > LATE_MS) arm(CATCH_UP_MS)
      else onPassed()
    }, waitMs)
  }
  arm(ms)
  return { [Symbol.dispose]: () => clearTimeout(timer) }
}
