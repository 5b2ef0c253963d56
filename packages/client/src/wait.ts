/** Cancellable waiting and back-off times. */

/** Resolves after `ms` milliseconds. Rejects with the signal's reason the moment it aborts. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted()
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      clearTimeout(timer)
      reject(signal?.reason as Error)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    }, ms)
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}

export type BackOff = { firstMs: number; maxMs: number }

/**
 * Milliseconds before repetition `n`, from 1: doubles from `firstMs` to `maxMs`, of which a random part between half and all counts,
 * so that the clients of a restarted server do not return at the same moment.
 */
export function backOffMs({ firstMs, maxMs }: BackOff, n: number): number {
  return Math.min(maxMs, firstMs * 2 ** Math.min(n - 1, 30)) * (0.5 + Math.random() / 2)
}

/** Milliseconds from `Retry-After`, which holds seconds or a date; null when it is missing or unreadable. */
export function retryAfterMs(headers: Headers, now = Date.now()): number | null {
  const value = headers.get('retry-after')
  if (value === null) return null
  const ms = /^\d+$/.test(value.trim()) ? Number(value) * 1000 : Date.parse(value) - now
  return Number.isFinite(ms) ? Math.max(0, ms) : null
}
