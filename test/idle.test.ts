/** What a server, and the runner's way out, load before anybody has asked for anything. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const source = (path: string) => fileURLToPath(new URL(`../packages/server/src/${path}`, import.meta.url))

/** Modules of the runtime itself that a process has loaded once `path` is. */
async function loadedWith(path: string): Promise<string[]> {
  const code = `await import(${JSON.stringify(source(path))}); console.log(JSON.stringify(process.moduleLoadList))`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', code])
  return JSON.parse(stdout) as string[]
}

test.each(['join/compose.ts', 'workspace/runner/proxy.ts'])(
  "%s leaves the runtime's fetch where it is",
  async (path) => {
    const loaded = await loadedWith(path)
    expect(loaded).toContain('NativeModule net')
    // It comes with an `import` of node:http; see lib/node-http.ts.
    expect(loaded.filter((name) => name.includes('undici'))).toEqual([])
  },
  60_000,
)
