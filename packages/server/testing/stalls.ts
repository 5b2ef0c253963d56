/** Measures the longest time in which a server process answers no request, from a thread that does nothing else. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'

/** Places in the shared counters. */
export const PROBES = 0
export const LONGEST_MICROSECONDS = 1

export type ProbeData = { url: string; pid: number; shared: SharedArrayBuffer }

export type Stalls = AsyncDisposable & {
  /** The longest stall in milliseconds during `work`, and the result of `work`. */
  during<T>(work: () => Promise<T>): Promise<{ result: T; longestMs: number }>
}

/** @param server a server in a process of its own; in the process of the test, the test's own work would count */
export function watchStalls({ url, process }: { url: string; process: { pid?: number | undefined } }): Stalls {
  const shared = new SharedArrayBuffer(8)
  const counters = new Int32Array(shared)
  const workerData: ProbeData = { url, pid: process.pid!, shared }
  const worker = new Worker(new URL('stall-probe.ts', import.meta.url), { workerData })
  /** Resolves when a probe has begun and ended. */
  const probed = async (): Promise<void> => {
    const enough = Atomics.load(counters, PROBES) + 2
    while (Atomics.load(counters, PROBES) < enough) await sleep(2)
  }
  return {
    during: async (work) => {
      await probed()
      Atomics.store(counters, LONGEST_MICROSECONDS, 0)
      const result = await work()
      await probed()
      return { result, longestMs: Atomics.load(counters, LONGEST_MICROSECONDS) / 1000 }
    },
    [Symbol.asyncDispose]: async () => void (await worker.terminate()),
  }
}
