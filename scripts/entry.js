#!/usr/bin/env node
// Copied to dist/parley.js as it is. The cache must be on before the first line of the bundle is compiled.
import module from 'node:module'
import { fileURLToPath } from 'node:url'
import v8 from 'node:v8'

// What loads now stays, so a larger young generation would only be memory that nobody uses; once all is loaded it may grow.
const isServer = process.argv[2] === 'serve'
if (isServer) v8.setFlagsFromString('--semi-space-growth-factor=1')

module.enableCompileCache?.(fileURLToPath(new URL('cache', import.meta.url)))
setTimeout(() => {
  if (isServer) v8.setFlagsFromString('--semi-space-growth-factor=2')
  // Node writes the cache when the process ends in order; a server may be killed instead.
  module.flushCompileCache?.()
}, 3000).unref()

const { main, processIo } = await import('./main.js')
process.exitCode = await main(process.argv.slice(2), processIo())
