/** Which waiting batches a client has received is known after a restart: docs/events.md, Approvals. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startRunning, type Running } from '../../packages/server/testing/restartable-server.ts'
import { until } from '../../packages/server/testing/until.ts'
import { queryStore } from '../../packages/server/testing/chosen-store.ts'

const UNSEEN = 'no client of this user has received it'

const startTouching = () =>
  startRunning(
    ({ view }) => {
      const turn = view.toolResults.length
      return turn > 1
        ? { text: 'done' }
        : { toolCalls: [{ name: 'terminal', arguments: { command: `touch turn-${turn}` } }] }
    },
    {},
    'process',
  )

/** The stored marks of batches that wait. */
async function marks(server: Running): Promise<unknown[]> {
  const text = "SELECT text FROM notes WHERE kind = 'batch' ORDER BY conversation"
  return (await queryStore(server.file('data'), text)).map((row) => row['text'])
}

const waiting = async (server: Running, count: number) =>
  until(async () => {
    const { body } = await server.call('GET', '/api/conversations/count?status=waiting_for_confirmation')
    return body === count
  }, 60_000)

const start = async (server: Running): Promise<string> => {
  const id = await server.start({ confirmation_policy: { kind: 'AlwaysConfirm' }, autotitle: false })
  await server.say(id, 'go')
  return id
}

test('a client that received a batch before a kill approves it by a run, and one that no client received stays unapproved', async () => {
  await using server = await startTouching()
  const seen = await start(server)
  await waiting(server, 1)
  expect(await marks(server)).toEqual(['waiting'])
  await server.until(seen, 'waiting_for_confirmation')
  await until(async () => (await marks(server))[0] === 'shown')
  const unseen = await start(server)
  await waiting(server, 2)
  expect(await marks(server)).toEqual(['shown', 'waiting'])

  await server.kill()
  const run = (id: string) => server.call('POST', `/api/conversations/${id}/run`)
  const isDone = (id: string, turn: number) => existsSync(join(server.work(id), `turn-${turn}`))
  const refused = await run(unseen)
  expect([refused.status, refused.text]).toEqual([409, expect.stringContaining(UNSEEN)])
  expect((await run(seen)).status).toBe(200)
  await until(() => isDone(seen, 0), 60_000)
  await waiting(server, 2)
  // The mark counts for that batch alone, and is deleted with its decision.
  expect(await marks(server)).toEqual(['waiting', 'waiting'])
  expect((await run(seen)).text).toContain(UNSEEN)
  expect([isDone(seen, 1), isDone(unseen, 0)]).toEqual([false, false])
  await server.until(unseen, 'waiting_for_confirmation')
  expect((await run(unseen)).status).toBe(200)
  await until(() => isDone(unseen, 0), 60_000)
}, 60_000)
