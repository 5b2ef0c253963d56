/**
 * Runs before every test file: everything the service writes and sends is searched for canaries, and a test with a
 * match fails. Processes that a test starts share compiled code.
 */
import { enableCompileCache } from 'node:module'
import { afterAll, afterEach } from 'vitest'
import { takeHits, tapConnections } from '../../packages/server/testing/canaries/watch.ts'
import { COMPILE_CACHE } from '../../packages/server/testing/server-program.ts'

tapConnections()
// A runner takes the folder of the process that starts it.
enableCompileCache(COMPILE_CACHE)

/** @throws when a canary was found since the last call. */
function expectNone(): void {
  const places = [
    ...new Set(takeHits().map(({ where, name, form, around }) => `${where}: ${name} (${form}): ${around}`)),
  ]
  if (places.length > 0) throw new Error(`secrets were written or sent:\n${places.slice(0, 10).join('\n')}`)
}

afterEach(expectNone)
afterAll(expectNone)
