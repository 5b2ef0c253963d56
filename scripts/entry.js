#!/usr/bin/env node
// Copied to dist/parley.js as it is. The cache must be on before the first line of the bundle is compiled.
import module from 'node:module'
import { fileURLToPath } from 'node:url'

module.enableCompileCache?.(fileURLToPath(new URL('cache', import.meta.url)))
// Node writes the cache when the process ends in order; a server may be killed instead.
setTimeout(() => module.flushCompileCache?.(), 3000).unref()

const { main, processIo } = await import('./main.js')
process.exitCode = await main(process.argv.slice(2), processIo())
