/** Bundles the server that tests start, once for all test files of a run. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'rolldown'
import { COMPILE_CACHE } from '../packages/server/testing/server-program.ts'
import { testServerBundles } from '../rolldown.config.ts'

/** Called by vitest before the first test file; the result is called after the last one. */
export async function setup(): Promise<() => void> {
  mkdirSync(COMPILE_CACHE, { recursive: true })
  // A folder for each run, because two runs may overlap.
  const folder = mkdtempSync(join(COMPILE_CACHE, 'server-'))
  await Promise.all(testServerBundles(folder).map((options) => build(options)))
  process.env['PARLEY_TEST_SERVER'] = join(folder, 'crashing-server.js')
  // The programs that a server within a test starts (`vitest.config.ts`).
  process.env['PARLEY_TEST_STARTS'] = pathToFileURL(join(folder, '/')).href
  return () => rmSync(folder, { recursive: true, force: true })
}
