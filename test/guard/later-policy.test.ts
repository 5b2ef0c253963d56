/** A call that has not begun obeys the policy in force, and the person who has written since. */
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ofKind, startRunning, type Loose, type Running } from '../../packages/server/testing/restartable-server.ts'
import { until } from '../../packages/server/testing/until.ts'

const ALWAYS = { kind: 'AlwaysConfirm' }

/** Two commands: the first writes the file `begun` and waits for the file `gate`, the second writes the file `second`. */
async function startTwoCommands(where: 'inside' | 'process' = 'inside'): Promise<Running> {
  return startRunning(
    ({ body }) => {
      const newest = (body['messages'] as { role: string }[]).findLast(({ role }) => role !== 'system')?.role
      if (newest === 'tool') return { text: 'done' }
      const call = (command: string) => ({ name: 'terminal', arguments: { command } })
      return {
        toolCalls: [call('touch begun; until [ -e gate ]; do sleep 0.05; done; touch first'), call('touch second')],
      }
    },
    {},
    where,
  )
}

const file = (server: Running, id: string, name: string) => join(server.work(id), name)
const open = (server: Running, id: string) => writeFile(file(server, id, 'gate'), '')
const post = (server: Running, id: string, path: string, body?: object) =>
  server.call('POST', `/api/conversations/${id}/${path}`, body)
const asked = async (server: Running, id: string): Promise<Loose[]> =>
  (await server.events(id)).flatMap(({ key, value }) => (key === 'confirmation_request' ? [value] : []))
const calls = async (server: Running, id: string) => ofKind(await server.events(id), 'ActionEvent')

async function proposed(server: Running, members: object = {}): Promise<string> {
  const id = await server.start({ autotitle: false, ...members })
  await server.say(id, 'go')
  await until(async () => (await calls(server, id)).length === 2, 60_000)
  return id
}

const firstBegins = (server: Running, id: string) => until(() => existsSync(file(server, id, 'begun')), 60_000)

test('a stricter policy asks about the calls that have not begun, during a pause too', async () => {
  await using server = await startTwoCommands()
  const id = await proposed(server)
  await firstBegins(server, id)
  expect((await post(server, id, 'pause')).status).toBe(200)
  expect((await post(server, id, 'confirmation_policy', { policy: ALWAYS })).status).toBe(200)
  await open(server, id)
  await until(async () => (await asked(server, id)).length === 1, 60_000)
  const [, second] = await calls(server, id)
  const [request] = await asked(server, id)
  expect(request.actions).toEqual([{ action_id: second.id, risk: 'UNKNOWN' }])
  expect([existsSync(file(server, id, 'first')), existsSync(file(server, id, 'second'))]).toEqual([true, false])

  await post(server, id, 'run')
  await server.until(id, 'waiting_for_confirmation')
  expect(existsSync(file(server, id, 'second'))).toBe(false)
  expect((await post(server, id, 'run', { batch_id: request.batch_id })).status).toBe(200)
  await server.until(id, 'finished')
  expect(existsSync(file(server, id, 'second'))).toBe(true)
})

test('a message withdraws the approval of the calls that have not begun', async () => {
  await using server = await startTwoCommands()
  const id = await proposed(server, { confirmation_policy: ALWAYS })
  await server.until(id, 'waiting_for_confirmation')
  const [first] = await asked(server, id)
  expect((await post(server, id, 'run', { batch_id: first.batch_id })).status).toBe(200)
  await firstBegins(server, id)
  await server.say(id, 'Do not do the second one!')
  await open(server, id)
  await server.until(id, 'waiting_for_confirmation')
  const [, again] = await asked(server, id)
  expect(again.actions.map(({ action_id }: Loose) => action_id)).toEqual([(await calls(server, id))[1].id])
  expect(again.batch_id).not.toBe(first.batch_id)
  const stale = await post(server, id, 'events/respond_to_confirmation', { accept: true, batch_id: first.batch_id })
  expect(stale.status).toBe(409)
  expect((await post(server, id, 'events/respond_to_confirmation', { accept: false, reason: 'no' })).status).toBe(200)
  await server.until(id, 'idle')
  expect([existsSync(file(server, id, 'first')), existsSync(file(server, id, 'second'))]).toEqual([true, false])
})

test('after a restart a stricter policy asks about a call that has not begun', async () => {
  await using server = await startTwoCommands()
  const id = await proposed(server)
  await firstBegins(server, id)
  expect((await post(server, id, 'pause')).status).toBe(200)
  await server.restart()
  await open(server, id)
  expect((await post(server, id, 'confirmation_policy', { policy: ALWAYS })).status).toBe(200)
  await server.say(id, 'Do not do the second one!')
  await server.until(id, 'waiting_for_confirmation', 'finished')
  expect([existsSync(file(server, id, 'first')), existsSync(file(server, id, 'second'))]).toEqual([true, false])
  expect((await asked(server, id)).map(({ actions }) => actions.length)).toEqual([1])
}, 60_000)
