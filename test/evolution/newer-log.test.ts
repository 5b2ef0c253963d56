/** A log that a newer version wrote. */
import { expect, test } from 'vitest'
import { ofKind, startRunning } from '../../packages/server/testing/restartable-server.ts'
import { changeRows } from '../../packages/server/testing/stored-rows.ts'

test('a log with tree and control events of unknown kinds opens, keeps its branch, and continues', async () => {
  await using server = await startRunning(() => ({ text: 'hello' }))
  const id = await server.start()
  await server.say(id, 'first')
  await server.until(id, 'finished')
  const before = await server.call('GET', `/api/conversations/${id}`)
  const future = '11111111-1111-4111-8111-111111111111'
  const store = server.file('data', 'parley.db')
  await server.restart(() =>
    changeRows(store, (rows) =>
      rows.append(
        id,
        { id: future, kind: 'FutureTreeEvent', parent_id: before.body.leaf_event_id, more: { a: null } },
        { id: '22222222-2222-4222-8222-222222222222', kind: 'FutureControlEvent' },
      ),
    ),
  )
  const opened = await server.call('GET', `/api/conversations/${id}`)
  expect(opened.body.leaf_event_id).toBe(future)

  await server.say(id, 'second')
  await server.until(id, 'finished')
  const request = JSON.stringify(server.model.requests.at(-1))
  for (const text of ['first', 'hello', 'second']) expect(request).toContain(text)

  const events = await server.events(id)
  expect(ofKind(events, 'MessageEvent').find(({ parent_id }) => parent_id === future)).toMatchObject({
    llm_message: { content: [{ text: 'second' }] },
  })
  expect(events.filter(({ key }) => key === 'unknown_event')).toHaveLength(2)

  const fork = await server.call('POST', `/api/conversations/${id}/fork`, {})
  expect(fork.status).toBe(201)
  const copied = await server.events(fork.body.id)
  expect(copied.filter(({ value }) => value?.kind === 'FutureTreeEvent')).toHaveLength(1)
})
