/**
 * FIFO locks by key within one workspace.
 *
 * Invariants
 *   L1. Two holders of the same key in the same scope never overlap.
 *   L2. Keys are taken one by one in sorted order, so holders cannot deadlock.
 *   L3. Waiters get a key in the order of their requests; a waiter that gave up blocks no other.
 * A holder must not acquire again before it releases: locks are not re-entrant.
 */

/** Milliseconds to wait for one key, by the prefix before its colon. Source: agent-core.md 1.11. */
const LOCK_LIMITS_MS: Readonly<Record<string, number>> = {
  file: 30_000,
  terminal: 300_000,
  browser: 300_000,
  mcp: 300_000,
  tool: 60_000,
}
const OTHER_LIMIT_MS = 30_000

/** A key was not free in time. */
export class LockTimeout extends Error {
  readonly key: string
  constructor(key: string, limitMs: number) {
    super(`"${key}" was still in use by another call after ${limitMs / 1000} s`)
    this.name = 'LockTimeout'
    this.key = key
  }
}

export interface Locks {
  /**
   * Acquires all `keys` of a scope until the result is disposed. Without keys it resolves at once.
   * @throws LockTimeout when one of them is not free in time; the signal's reason when aborted. Nothing is held then.
   */
  acquire(scope: string, keys: readonly string[], signal: AbortSignal): Promise<Disposable>
}

type Waiter = { enter: () => void }

/** Creates a lock table; one per process, so that all users of a workspace exclude each other (F68). */
export function createLocks(limitsMs: Readonly<Record<string, number>> = LOCK_LIMITS_MS): Locks {
  /** Waiters by held key; an absent key is free. */
  const held = new Map<string, Waiter[]>()

  function release(slot: string): void {
    const next = held.get(slot)?.shift()
    if (next === undefined) held.delete(slot)
    else next.enter()
  }

  function take(slot: string, key: string, signal: AbortSignal): Promise<void> | undefined {
    const queue = held.get(slot)
    if (queue === undefined) {
      held.set(slot, [])
      return undefined
    }
    return new Promise((resolve, reject) => {
      const limitMs = limitsMs[key.split(':', 1)[0] ?? ''] ?? OTHER_LIMIT_MS
      const leave = (reason: unknown): void => {
        queue.splice(queue.indexOf(waiter), 1)
        stop()
        reject(reason as Error)
      }
      const onAbort = (): void => leave(signal.reason)
      const timer = setTimeout(() => leave(new LockTimeout(key, limitMs)), limitMs)
      const stop = (): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', onAbort)
      }
      const waiter: Waiter = {
        enter: () => {
          stop()
          resolve()
        },
      }
      signal.addEventListener('abort', onAbort, { once: true })
      queue.push(waiter)
    })
  }

  return {
    async acquire(scope, keys, signal) {
      const taken: string[] = []
      const releaseAll = (): void => {
        for (const slot of taken.splice(0)) release(slot)
      }
      try {
        for (const key of [...new Set(keys)].sort()) {
          // The next wait would not notice an abort that came between two keys.
          signal.throwIfAborted()
          const slot = `${scope}\0${key}`
          await take(slot, key, signal)
          taken.push(slot)
        }
        // An abort may arrive between the last hand-over and here.
        signal.throwIfAborted()
      } catch (error) {
        releaseAll()
        throw error
      }
      return { [Symbol.dispose]: releaseAll }
    },
  }
}
