/** Modules of the runtime that a server and the runner's egress proxy load before the first request. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const source = (path: string) => fileURLToPath(new URL(`../packages/server/src/${path}`, import.meta.url))

/** Modules of the runtime that are loaded after importing `path`. */
async function loadedWith(path: string): Promise<string[]> {
  const code = `await import(${JSON.stringify(source(path))}); console.log(JSON.stringify(process.moduleLoadList))`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', code])
  return JSON.parse(stdout) as string[]
}

test.each(['compose/compose.ts', 'workspace/runner/sandbox/filtering-proxy.ts'])(
  "%s does not load the runtime's fetch",
  async (path) => {
    const loaded = await loadedWith(path)
    expect(loaded).toContain('NativeModule net')
    // An `import` of node:http would load it; see lib/node-http.ts.
    expect(loaded.filter((name) => name.includes('undici'))).toEqual([])
  },
  60_000,
)
