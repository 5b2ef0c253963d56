/** Servers without a key, comparison of keys, and endpoints without a key. */
import { networkInterfaces } from 'node:os'
import { request } from 'node:http'
import { describe, expect } from 'vitest'
import { ConfigError, readConfig, startServer } from '../../packages/server/src/index.ts'
import { newUserIn, openIdentities } from '../../packages/server/src/settings/index.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { verifies } from '../verifies.ts'
import { serve } from '../../packages/server/testing/multi-user-server.ts'

const config = (dataDir: string, flags: Record<string, string | boolean> = {}, env: Record<string, string> = {}) =>
  readConfig({
    flags: { port: '0', 'data-dir': dataDir, 'log-level': 'silent', 'allow-root': true, ...flags },
    env: { PARLEY_RUNNER_ORPHAN_EXIT_SECONDS: '5', ...env },
    cwd: dataDir,
    home: dataDir,
  }).config

describe('a server that has no key', () => {
  verifies(
    'design.keys.loopback',
    'a server without a key listens only on loopback and says how to open it',
    async () => {
      await using dir = await tempDir()
      for (const host of ['0.0.0.0', '::']) {
        const started = startServer(config(dir.file('data'), { host }))
        await expect(started).rejects.toThrow(ConfigError)
        await expect(started).rejects.toThrow(/PARLEY_SESSION_API_KEYS|parley keys create/)
      }
      await using server = await startServer(config(dir.file('data')))
      expect(new URL(server.url).hostname).toBe('127.0.0.1')
      const outside = Object.values(networkInterfaces())
        .flatMap((each) => each ?? [])
        .filter(({ internal, family }) => !internal && family === 'IPv4')
      const { port } = new URL(server.url)
      for (const { address } of outside) {
        const asked = fetch(`http://${address}:${port}/health`, { signal: AbortSignal.timeout(3000) })
        await expect(asked).rejects.toThrow()
      }
    },
  )

  verifies(
    'design.keys.without',
    'a server without keys needs without_keys and answers only this machine',
    async () => {
      await using dir = await tempDir()
      const flags = { 'without-keys': true }
      expect(() => config(dir.path, { ...flags, host: '0.0.0.0' })).toThrow(/loopback/)
      expect(() => config(dir.path, flags, { PARLEY_SESSION_API_KEYS: 'k' })).toThrow(ConfigError)
      {
        await using locked = await startServer(config(dir.file('locked')))
        expect((await fetch(`${locked.url}/api/secrets`)).status).toBe(401)
      }
      await using open = await startServer(config(dir.file('open'), flags))
      expect(open.firstKey).toBeNull()
      expect((await fetch(`${open.url}/api/secrets`)).status).toBe(200)
      // A page of another site, and a rebound foreign name.
      expect((await fetch(`${open.url}/api/secrets`, { headers: { origin: 'https://evil.example' } })).status).toBe(403)
      const { promise, resolve } = Promise.withResolvers<number | undefined>()
      request(`${open.url}/api/secrets`, { headers: { host: 'evil.example' } }, (answer) => {
        answer.resume()
        resolve(answer.statusCode)
      }).end()
      expect(await promise).toBe(403)
    },
  )
})

/** Median microseconds of many interleaved runs, so that load affects all of them. */
async function medians(works: readonly (() => Promise<unknown>)[]): Promise<number[]> {
  const times = works.map((): number[] => [])
  for (let round = 0; round < 400; round++) {
    for (const [at, work] of works.entries()) {
      const from = performance.now()
      for (let n = 0; n < 5; n++) await work()
      times[at]!.push(performance.now() - from)
    }
  }
  return times.map((each) => each.toSorted((a, b) => a - b)[200]! * 1000)
}

verifies(
  'design.auth.constant-time',
  'a wrong key takes equally long whether it differs at its first or its last character',
  async () => {
    // Long keys make a comparison that stops early measurable.
    const right = 'k'.repeat(4000)
    const none = async () => null
    const keys = { create: none, find: none, list: async () => [], revoke: async () => false } as never
    const { authenticate } = openIdentities(keys, [right], () => new Date(), newUserIn('personal'))
    expect(await authenticate(right)).toMatchObject({ user: 'default' })
    const wrong = [`x${right.slice(1)}`, `${right.slice(0, 2000)}x${right.slice(2001)}`, `${right.slice(0, -1)}x`]
    for (const key of wrong) expect(await authenticate(key)).toBeNull()
    const [first, middle, last] = (await medians(wrong.map((key) => () => authenticate(key)))) as [
      number,
      number,
      number,
    ]
    expect(Math.max(first, middle, last) / Math.min(first, middle, last)).toBeLessThan(1.3)
  },
)

verifies(
  'design.version.contract',
  'server details contain the version of the contract and the version of Parley',
  async () => {
    await using dir = await tempDir()
    await using serving = await serve(dir.file('data'))
    const { json } = await serving.call('GET', '/server_info')
    const [major, minor, patch] = json.version.split('.').map(Number)
    expect(major * 1e6 + minor * 1e3 + patch).toBeGreaterThanOrEqual(1_043_001)
    expect(json.parley_version).toMatch(/^\d+\.\d+\.\d+/)
    expect(json.parley_version).not.toBe(json.version)
  },
)
