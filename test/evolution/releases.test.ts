/** The stored data of every release opens, is shown and continues. */
import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import {
  releaseNames,
  RELEASE_KEY,
  restoreRelease,
  type ReleaseIds,
} from '../../packages/server/testing/release-data.ts'
import { startRunning, type Loose, type Running } from '../../packages/server/testing/restartable-server.ts'
import type { ModelRequest } from '../../packages/server/testing/scripted-model.ts'

/** Starts a server on the data directory of a release. */
async function startOnRelease(release: string): Promise<{ server: Running; ids: ReleaseIds }> {
  const respond = ({ text }: ModelRequest) => ({
    text: text.includes('You judge whether') ? '{"score":1,"complete":true,"missing":""}' : 'Done.',
  })
  const server = await startRunning(respond, { PARLEY_SECRET_KEY: RELEASE_KEY })
  let ids: ReleaseIds
  await server.restart(async () => {
    const places = { dataDir: server.file('data'), model: server.model.url, work: server.file('work') }
    ids = await restoreRelease(release, places)
  })
  return { server, ids: ids! }
}

const messagesOf = (events: readonly Loose[]) => events.filter(({ kind }) => kind === 'MessageEvent')
/** Number of lines of a file; 0 for a missing one. */
const lines = async (path: string) => (await readFile(path, 'utf8').catch(() => '')).split('\n').length - 1

test.each(releaseNames())(
  'data of release %s opens, is shown complete, and continues',
  async (release) => {
    const { server: started, ids } = await startOnRelease(release)
    await using server = started
    const { open, received, ...others } = ids

    // The call that was open ends by itself: executed, or reported as unknown.
    await server.until(open, 'finished')
    expect(await lines(server.file('work', 'open', 'opened.txt'))).toBeLessThanOrEqual(1)

    const { body: page } = await server.call('GET', '/api/conversations/search?limit=100')
    const statuses = Object.fromEntries(page.items.map((item: Loose) => [item.id, item.execution_status]))
    expect(statuses).toEqual({
      [ids.finished]: 'finished',
      [ids.waiting]: 'waiting_for_confirmation',
      [ids.goal]: 'finished',
      [ids.parent]: 'finished',
      [ids.child]: 'finished',
      [ids.fork]: 'idle',
      [open]: 'finished',
      [received]: 'idle',
    })
    for (const item of page.items) expect(item).not.toHaveProperty('unreadable')
    expect((await server.call('GET', `/api/conversations/${ids.goal}`)).body.title).toBe('goal')
    expect((await server.call('GET', `/api/conversations/${ids.parent}`)).body.sub_conversation_ids).toEqual([
      ids.child,
    ])
    expect((await server.call('GET', '/api/settings/secrets/FIXTURE_SECRET')).text).toBe('value-of-the-fixture-secret')

    const respond = `/api/conversations/${ids.waiting}/events/respond_to_confirmation`
    expect((await server.call('POST', respond, { accept: true })).status).toBe(200)
    await server.until(ids.waiting, 'finished')
    expect(await lines(server.file('work', 'waiting', 'approved.txt'))).toBe(1)

    for (const id of Object.values(others)) {
      const before = messagesOf(await server.events(id)).length
      expect((await server.say(id, 'and now')).status).toBe(200)
      await server.until(id, 'finished')
      expect(messagesOf(await server.events(id))).toHaveLength(before + 2)
    }
    const again = (await server.call('GET', '/api/conversations/search?limit=100')).body
    await server.restart()
    expect((await server.call('GET', '/api/conversations/search?limit=100')).body).toEqual(again)
  },
  60_000,
)
