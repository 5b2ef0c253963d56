/**
 * Runs before every test file: everything the service writes and sends is searched for canaries, and a test with a
 * match fails.
 */
import { afterAll, afterEach } from 'vitest'
import { takeHits, tapConnections } from '../../packages/server/testing/canaries/watch.ts'

tapConnections()

/** @throws when a canary was found since the last call. */
function expectNone(): void {
  const places = [
    ...new Set(takeHits().map(({ where, name, form, around }) => `${where}: ${name} (${form}): ${around}`)),
  ]
  if (places.length > 0) throw new Error(`secrets were written or sent:\n${places.slice(0, 10).join('\n')}`)
}

afterEach(expectNone)
afterAll(expectNone)
