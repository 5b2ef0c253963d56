/** One conversation that cannot be read does not affect the others. */
import { expect, test } from 'vitest'
import { startRunning } from '../../packages/server/testing/restartable-server.ts'
import { changeRows, type StoredRows } from '../../packages/server/testing/stored-rows.ts'
import { until } from '../../packages/server/testing/until.ts'

/** An event of which only the envelope is left. */
const HOLLOW = '{"kind":"MessageEvent","id":"e","timestamp":"t","parent_id":null,"source":"agent"}'

const DAMAGES: [what: string, change: (rows: StoredRows, id: string) => void][] = [
  ['an event that is no JSON', (rows, id) => rows.damage(id, 3, '{"kind":')],
  ['an event without its members', (rows, id) => rows.damage(id, 3, HOLLOW)],
  ['a missing event', (rows, id) => rows.remove(id, 3)],
  ['a record that is no JSON', (rows, id) => rows.damageRecord(id, 'zzz')],
]

test.each(DAMAGES)('a conversation with %s is refused by name, marked in lists, and deleted', async (_, change) => {
  await using server = await startRunning(() => ({ text: 'hello' }))
  const [sound, damaged] = [await server.start(), await server.start()]
  for (const id of [sound, damaged]) {
    await server.say(id, 'hi')
    await server.until(id, 'finished')
  }
  const store = server.file('data', 'parley.db')
  await server.restart(() =>
    changeRows(store, (rows) => {
      change(rows, damaged)
      rows.forgetState(damaged)
      rows.setStatus(damaged, 'running')
    }),
  )
  const remedy = expect.stringMatching(/cannot be read.*restore the store from a backup, or delete the conversation/)
  const at = `/api/conversations/${damaged}`
  const hi = { content: [{ type: 'text', text: 'hi' }], run: true }
  const refused = [
    await server.call('GET', at),
    await server.call('POST', `${at}/events`, hi),
    await server.call('POST', `${at}/run`),
    await server.call('POST', `${at}/interrupt`),
  ]
  for (const answer of refused)
    expect(answer).toMatchObject({
      status: 409,
      body: { detail: remedy, reason: 'unreadable', conversation_id: damaged },
    })

  const { status, body } = await server.call('GET', '/api/conversations/search')
  expect(status).toBe(200)
  const items = Object.fromEntries(body.items.map((item: any) => [item.id, item]))
  expect(items[damaged]).toMatchObject({ execution_status: 'error', unreadable: remedy })
  expect(items[sound]).toMatchObject({ execution_status: 'finished' })
  expect(items[sound]).not.toHaveProperty('unreadable')
  const listed = await server.call('GET', '/api/conversations?limit=10')
  expect(listed.status).toBe(200)
  // The start has left it, so that no later start tries again.
  await until(async () => {
    let stored = ''
    changeRows(store, (rows) => (stored = rows.status(damaged)))
    return stored === 'error'
  })
  expect((await server.say(sound, 'again')).status).toBe(200)
  await server.until(sound, 'finished')

  expect((await server.call('DELETE', at)).status).toBe(200)
  expect((await server.call('GET', at)).status).toBe(404)
})

test('a damaged cached state is computed again from the log', async () => {
  await using server = await startRunning(() => ({ text: 'hello' }))
  const id = await server.start()
  await server.say(id, 'hi')
  const before = await server.until(id, 'finished')
  const store = server.file('data', 'parley.db')
  await server.restart(() => changeRows(store, (rows) => rows.changeState(id, () => 'no state')))
  expect((await server.call('GET', `/api/conversations/${id}`)).body).toEqual(before)
})
