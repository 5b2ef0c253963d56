import { test } from 'vitest'

/**
 * A test that proves statements of the interface document (ids in `requirements.ts`).
 * The ids must be literals: `requirements.test.ts` reads them from the source, without running anything.
 * @param timeoutMs milliseconds; default that of vitest.config.ts
 */
export function verifies(
  ids: string | readonly string[],
  name: string,
  fn: () => void | Promise<void>,
  timeoutMs?: number,
): void {
  if (ids.length === 0) throw new Error(`verifies: "${name}" names no requirement`)
  test(name, fn, timeoutMs)
}
