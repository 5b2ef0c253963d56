/** Waiting that can be called off. */

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
 * What `work` resolves to, unless the signal aborts first: then its reason, at once. The work itself is not stopped,
 * and a later failure of it is nobody's; give the signal to the work too where it takes one.
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

export type Inactivity = Disposable & {
  readonly signal: AbortSignal
  /** A sign of life: the silence starts again. */
  touch(): void
}

/** A signal that aborts with `reason` once `ms` milliseconds have passed without a `touch()`. Dispose it to stop waiting. */
export function inactivity(ms: number, reason: Error): Inactivity {
  const controller = new AbortController()
  const timer = setTimeout(() => controller.abort(reason), ms)
  return {
    signal: controller.signal,
    touch: () => {
      if (!controller.signal.aborted) timer.refresh()
    },
    [Symbol.dispose]: () => clearTimeout(timer),
  }
}
