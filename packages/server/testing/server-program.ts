/** Compiled code that the processes of tests share: without it, each start compiles a thousand files. */
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Folder of the compile cache, removed together with the installed packages. */
export const COMPILE_CACHE = fileURLToPath(new URL('../../../node_modules/.cache/parley-tests', import.meta.url))

const bundled = process.env['PARLEY_TEST_SERVER']

/**
 * The program of a server process and the folder of its compiled code. A test run bundles the server (`test/bundled-server.ts`),
 * which then starts in half the time; elsewhere it is started from its sources.
 */
export const SERVER_PROGRAM: { entry: string; cache: string } =
  bundled === undefined
    ? { entry: fileURLToPath(new URL('crashing-server.ts', import.meta.url)), cache: COMPILE_CACHE }
    : { entry: bundled, cache: join(dirname(bundled), 'compiled') }
