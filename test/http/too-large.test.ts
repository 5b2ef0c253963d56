/** A sender in another process receives the refusal of its body while it is still writing. */
import { expect, test } from 'vitest'
import { startServerProcess, TEST_KEY } from '../../packages/server/testing/server-process.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'

const body = Buffer.alloc(60 * 1024 * 1024, 'a')

test('a body of 60 MB sent with fetch is always answered with 413', async () => {
  await using dir = await tempDir()
  await using server = await startServerProcess({ dataDir: dir.file('data') })
  const headers = { 'X-Session-API-Key': TEST_KEY, 'content-type': 'application/json' }
  for (const path of ['/api/conversations', '/api/secrets']) {
    for (let turn = 0; turn < 4; turn++) {
      // Every second request has no content length.
      const sent = turn % 2 === 0 ? { body } : { body: new Blob([body]).stream(), duplex: 'half' as const }
      const answer = await fetch(server.url + path, { method: 'POST', headers, ...sent })
      expect([answer.status, await answer.json()]).toEqual([413, { detail: expect.stringContaining('larger than') }])
    }
  }
  expect((await server.call('GET', '/api/conversations/count')).body).toBe(0)
}, 120_000)
