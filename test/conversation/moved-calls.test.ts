/** A navigation and a fork close the calls that are open there, and say of each what is known of it. */
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ofKind, startRunning, type Running } from '../../packages/server/testing/restartable-server.ts'
import { until } from '../../packages/server/testing/until.ts'

/** A model that runs the message as a command, once. */
const start = (): Promise<Running> =>
  startRunning(({ body, view }) => {
    const newest = (body['messages'] as { role: string }[]).findLast(({ role }) => role !== 'system')?.role
    if (newest === 'tool') return { text: 'done' }
    return { toolCalls: [{ name: 'terminal', arguments: { command: view.lastUserText } }] }
  })

/** The texts that answer the open calls after a navigation to the newest call, and in a fork that ends there. */
async function textsAt(server: Running, id: string): Promise<string[]> {
  const call = ofKind(await server.events(id), 'ActionEvent').at(-1)
  const before = ofKind(await server.events(id), 'AgentErrorEvent').length
  const forked = await server.call('POST', `/api/conversations/${id}/fork`, { from_event_id: call.id })
  const moved = await server.call('POST', `/api/conversations/${id}/navigate`, { event_id: call.id })
  expect([forked.status < 300, moved.status]).toEqual([true, 200])
  const [own] = ofKind(await server.events(id), 'AgentErrorEvent').slice(before)
  const [fork] = ofKind(await server.events(forked.body.id), 'AgentErrorEvent')
  return [own.error, fork.error]
}

test('the model reads that a call was executed when a navigation or a fork goes back to it', async () => {
  await using server = await start()
  const id = await server.start({ autotitle: false })
  await server.say(id, 'touch paid')
  await server.until(id, 'finished')
  expect(existsSync(join(server.work(id), 'paid'))).toBe(true)
  const [moved, forked] = await textsAt(server, id)
  expect(moved).toContain('was executed on another branch of this conversation, and its effects remain')
  expect(forked).toContain('was executed in the conversation that this one was forked from, and its effects remain')
  for (const text of await textsAt(server, id)) expect(text).not.toContain('not executed')
})

test('the model reads that a call was not executed only when a person was asked and has not approved it', async () => {
  await using server = await start()
  const id = await server.start({ autotitle: false, confirmation_policy: { kind: 'AlwaysConfirm' } })
  await server.say(id, 'touch paid')
  await server.until(id, 'waiting_for_confirmation')
  for (const text of await textsAt(server, id)) expect(text).toContain('it was not executed')
  expect(existsSync(join(server.work(id), 'paid'))).toBe(false)
})

test('the model reads that the outcome is unknown when the log does not contain it', async () => {
  await using server = await start()
  const id = await server.start({ autotitle: false })
  await server.say(id, 'touch begun; until [ -e gate ]; do sleep 0.05; done')
  await until(() => existsSync(join(server.work(id), 'begun')), 60_000)
  expect((await server.call('POST', `/api/conversations/${id}/pause`)).status).toBe(200)
  await server.restart()
  for (const text of await textsAt(server, id)) {
    expect(text).toContain('Whether it was executed, wholly or in part, is not known')
    expect(text).not.toContain('not executed')
  }
  await writeFile(join(server.work(id), 'gate'), '')
}, 60_000)
