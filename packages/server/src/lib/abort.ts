/** Waiting that can be aborted. */

/** Resolves after `ms` milliseconds; rejects with the signal's reason as soon as it aborts. */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const timer = setTimeout(() => {
    signal.removeEventListener('abort', abort)
    resolve()
  }, ms)
  const abort = () => {
    clearTimeout(timer)
    reject(signal.reason)
  }
  signal.addEventListener('abort', abort, { once: true })
  return promise
}

/**
 * Settles like `work`, or rejects with the signal's reason as soon as the signal aborts. The work itself is not stopped, and its
 * later failure is ignored; pass the signal to the work too where possible.
 */
export function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  const abort = () => reject(signal.reason)
  const forget = () => signal.removeEventListener('abort', abort)
  if (signal.aborted) abort()
  else signal.addEventListener('abort', abort, { once: true })
  work.then(resolve, reject).finally(forget)
  return promise
}

/**
 * Resolves with true when `work` has ended, and with false as soon as `late` aborts; the work then continues, and its later failure is
 * ignored. Rejects with the error of the work before that.
 */
export async function endsInTime(work: Promise<unknown>, late: AbortSignal): Promise<boolean> {
  try {
    await abortable(work, late)
    return true
  } catch (error) {
    if (!late.aborted) throw error
    return false
  }
}

/** Resolves when the signal aborts. */
export async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}
