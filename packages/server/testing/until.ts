import { setTimeout as sleep } from 'node:timers/promises'

/** Polls until `holds` returns true, for conditions without an event. */
export async function until(holds: () => boolean | Promise<boolean>, timeoutMs = 20_000): Promise<void> {
  const deadline = performance.now() + timeoutMs
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`did not come true within ${timeoutMs} ms: ${holds.toString()}`)
    await sleep(20)
  }
}
