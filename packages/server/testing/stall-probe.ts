/**
 * The thread of `stalls.ts`. It asks `/alive` again and again over one connection and stores the longest answer.
 * The time in which the server's main thread, or this thread, only waited for a processor is subtracted where the system reports it.
 */
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { workerData } from 'node:worker_threads'
import { PROBES, LONGEST_MICROSECONDS, type ProbeData } from './stalls.ts'

const { url, pid, shared } = workerData as ProbeData
const counters = new Int32Array(shared)
const { hostname, port } = new URL(url)
const REQUEST = `GET /alive HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`
const PAUSE_MS = 1

/** Milliseconds for which a thread could have run and had no processor; 0 where the system does not say. */
function waitedMs(path: string): number {
  try {
    return Number(readFileSync(path, 'utf8').split(' ')[1]) / 1e6
  } catch {
    return 0
  }
}
const waited = (): number => waitedMs(`/proc/${pid}/schedstat`) + waitedMs('/proc/thread-self/schedstat')

let socket: Socket | undefined
for (;;) {
  const before = waited()
  const from = performance.now()
  try {
    await ask((socket ??= connect(Number(port), hostname).setNoDelay()))
  } catch {
    socket?.destroy()
    socket = undefined
    await sleep(20)
    continue
  }
  const ms = Math.max(0, performance.now() - from - (waited() - before))
  if (ms * 1000 > Atomics.load(counters, LONGEST_MICROSECONDS)) Atomics.store(counters, LONGEST_MICROSECONDS, ms * 1000)
  Atomics.add(counters, PROBES, 1)
  await sleep(PAUSE_MS)
}

function ask(open: Socket): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  open.once('data', () => resolve())
  open.once('close', reject)
  open.once('error', reject)
  open.write(REQUEST)
  return promise.finally(() => open.removeAllListeners().on('error', () => {}))
}
