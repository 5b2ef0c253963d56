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

/**
 * While a server loads, almost everything stays in memory, so a larger young generation would only cost memory. Most code runs once, so
 * optimising it costs more than it saves: five megabytes of the compilers themselves, and their threads.
 */
const LOADING = ['--semi-space-growth-factor=1', '--no-maglev', '--no-turbofan']
/** The defaults of the runtime, which hold when the server has loaded. */
const LOADED = ['--semi-space-growth-factor=2', '--maglev', '--turbofan']
const LOADED_MS = 3000

const isServer = process.argv[2] === 'serve'
if (isServer) for (const flag of LOADING) v8.setFlagsFromString(flag)

module.enableCompileCache?.(process.getBuiltinModule('node:url').fileURLToPath(new URL('cache', import.meta.url)))
setTimeout(() => {
  if (isServer) for (const flag of LOADED) v8.setFlagsFromString(flag)
  // Node writes the cache at an orderly exit only; a server may be killed instead.
  module.flushCompileCache?.()
}, LOADED_MS).unref()

const { main, processIo } = await import(new URL('main.js', import.meta.url).href)
process.exitCode = await main(process.argv.slice(2), processIo())
