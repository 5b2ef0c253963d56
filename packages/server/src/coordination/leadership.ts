/** Runs work on one node at a time: on the one whose session with the store holds the lock of that name. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '../observability/index.ts'
import type { Lease } from '../storage/index.ts'

/** Milliseconds between attempts to become the leader, and after work that failed. */
const RETRY_MS = 1_000
/** Parts of a lease between checks whether this node is still the leader. */
const CHECKS = 12

export type LeadershipDeps = { lease: Lease; leaseMs: number; log: Pick<Log, 'error'> }

/** @see Coordination.lead */
export function lead(
  { lease, leaseMs, log }: LeadershipDeps,
  name: string,
  work: (signal: AbortSignal) => Promise<void>,
): AsyncDisposable {
  const ending = new AbortController()
  const pause = () =>
    sleep(RETRY_MS * (0.75 + Math.random() / 2), undefined, { signal: ending.signal, ref: false }).catch(
      () => undefined,
    )

  /** One term. The lock outlives it: it ends with the session, or with the disposal. */
  const term = async (): Promise<void> => {
    const over = new AbortController()
    const end = () => over.abort(new Error(`this node is no longer the leader for ${name}`))
    using _lost = lease.onSession(end)
    const check = setInterval(() => {
      // Another node becomes the leader when the lease has ended; until then nothing may be left.
      if (!lease.isConfirmed) end()
    }, leaseMs / CHECKS)
    check.unref()
    try {
      await work(AbortSignal.any([over.signal, ending.signal]))
    } catch (err) {
      if (!over.signal.aborted && !ending.signal.aborted) log.error({ err, name }, 'work of a leader failed')
    } finally {
      clearInterval(check)
    }
  }
  const loop = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      if (lease.isConfirmed && (await lease.tryLock(name))) await term()
      if (!ending.signal.aborted) await pause()
    }
  }
  const running = loop()
  return {
    async [Symbol.asyncDispose]() {
      ending.abort()
      await running
      await lease.unlock(name)
    },
  }
}
