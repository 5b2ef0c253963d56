/** Compiled sources that the server processes of tests share: without them, each start compiles a thousand files. */
import { fileURLToPath } from 'node:url'

/** Folder of the compile cache, removed together with the installed packages. */
export const COMPILE_CACHE = fileURLToPath(new URL('../../../node_modules/.cache/parley-tests', import.meta.url))
