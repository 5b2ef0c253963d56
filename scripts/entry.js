#!/usr/bin/env node
// Copied to dist/parley.js unchanged. The compile cache must be on before the first line of the bundle is compiled.

/** The oldest Node that runs the bundle. */
const FLOOR = 24
if (Number.parseInt(process.versions.node, 10) < FLOOR) {
  process.stderr.write(`parley: needs Node ${FLOOR} or later; this is Node ${process.versions.node}\n`)
  process.exit(1)
}

// Not imported, because an import also loads what their properties load on first use.
const module = process.getBuiltinModule('node:module')
const v8 = process.getBuiltinModule('node:v8')

// Almost everything that loads now stays, so a larger young generation would only cost memory; after loading it may grow.
const isServer = process.argv[2] === 'serve'
if (isServer) v8.setFlagsFromString('--semi-space-growth-factor=1')

module.enableCompileCache?.(process.getBuiltinModule('node:url').fileURLToPath(new URL('cache', import.meta.url)))
setTimeout(() => {
  if (isServer) v8.setFlagsFromString('--semi-space-growth-factor=2')
  // Node writes the cache at an orderly exit only; a server may be killed instead.
  module.flushCompileCache?.()
}, 3000).unref()

const { main, processIo } = await import(new URL('main.js', import.meta.url).href)
process.exitCode = await main(process.argv.slice(2), processIo())
