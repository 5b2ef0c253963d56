/**
 * Who may touch what at the same moment: FIFO locks by key, within one workspace.
 *
 * Invariants
 *   L1. Two holders of the same key in the same scope never overlap.
 *   L2. Keys are taken one by one in sorted order, so no set of holders waits in a circle.
 *   L3. Whoever asked first for a key gets it first; one that gave up stands in nobody's way.
 * A holder must not ask again before it releases: locks are not re-entrant.
 */

/** Milliseconds one key is waited for, by what stands before its colon. Source: agent-core.md 1.11. */
export const LOCK_LIMITS_MS: Readonly<Record<string, number>> = {
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
   * Holds all `keys` of a scope until the result is disposed. No keys: returns at once.
   * @throws LockTimeout when one of them is not free in time; the signal's reason when aborted. Nothing is held then.
   */
  acquire(scope: string, keys: readonly string[], signal: AbortSignal): Promise<Disposable>
}

type Waiter = { enter: () => void }

/** One lock table; one per process, so that everyone who works in a workspace is excluded alike (F68). */
export function createLocks(limitsMs: Readonly<Record<string, number>> = LOCK_LIMITS_MS): Locks {
  /** Who waits for a held key; a key that is absent is free. */
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
          // An abort that came between two keys would not be heard by the next wait.
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
