/** Milliseconds by which a timer may fire late on a busy machine. A later one means that the process did not run meanwhile. */
const LATE_MS = 1_000
/** Milliseconds to read what arrived while the process did not run. */
const CATCH_UP_MS = 10_000
/** Longest time of a timer, in milliseconds; a longer one would fire at once. */
const LONGEST_MS = 2 ** 31 - 1

/**
 * Calls `onPassed` after `ms` milliseconds, unless it is disposed before. Timers fire before sockets are read, so the sockets are read
 * once more before the limit passes: an answer that has arrived counts. A timer that fires more than a second late means that this
 * process was stopped, or its machine suspended; the limit is then extended by ten seconds, because there may be much to read.
 */
export function timeLimit(ms: number, onPassed: () => void): Disposable & { unref(): void } {
  let timer: NodeJS.Timeout
  let isDisposed = false
  let keepsProcess = true
  const pass = () => {
    if (!isDisposed) onPassed()
  }
  const arm = (waitMs: number): void => {
    const due = performance.now() + waitMs
    timer = setTimeout(() => {
      if (performance.now() - due > LATE_MS) arm(CATCH_UP_MS)
      else afterReading(pass)
    }, waitMs)
    if (!keepsProcess) timer.unref()
  }
  arm(Math.min(ms, LONGEST_MS))
  return {
    unref() {
      keepsProcess = false
      timer.unref()
    },
    [Symbol.dispose]() {
      isDisposed = true
      clearTimeout(timer)
    },
  }
}

/** Calls `then` after the sockets were read: that happens between two immediates. */
export function afterReading(then: () => void): void {
  setImmediate(() => setImmediate(then))
}

/**
 * Returns a signal that aborts with a `TimeoutError` after `ms` milliseconds; it keeps no process alive. For requests: unlike
 * `AbortSignal.timeout` it keeps the rule of `timeLimit`.
 */
export function timeoutSignal(ms: number): AbortSignal {
  const controller = new AbortController()
  const passed = () => controller.abort(new DOMException(`not done within ${ms} ms`, 'TimeoutError'))
  timeLimit(ms, passed).unref()
  return controller.signal
}
