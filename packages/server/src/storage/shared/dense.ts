import type { StoredEvent } from '@parley/protocol'

/** @throws Error when the events do not follow `after` without a gap, which is a bug of the caller (S1). */
export function requireDense(after: number, events: readonly StoredEvent[]): void {
  for (const [index, { seq }] of events.entries()) {
    const expected = after + index + 1
    if (seq !== expected) throw new Error(`event ${index} of an append has seq ${seq} instead of ${expected}`)
  }
}
