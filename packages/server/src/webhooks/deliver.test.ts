import type { ConversationId } from '@parley/protocol'
import { expect, test } from 'vitest'
import { tempDir } from '../../testing/temp.ts'
import { startWebhookReceiver } from '../../testing/webhook-receiver.ts'
import { until } from '../../testing/until.ts'
import { openSqlite } from '../storage/index.ts'
import { conversation, deliverTo, seqsOf, target, topics } from './deliver.testing.ts'

test('a hanging delivery delays neither other conversations nor other targets', async () => {
  await using dir = await tempDir()
  await using storage = await openSqlite({ path: dir.file('parley.db') })
  await using stuck = await startWebhookReceiver({ behave: () => 'hang' })
  await using healthy = await startWebhookReceiver()
  const targets = [target(stuck), target(healthy)]
  await using _webhooks = await deliverTo({ targets, storage })
  const [hanging, ...others] = await Promise.all(Array.from({ length: 30 }, () => conversation(storage)))
  healthy.behave = ({ body }) => (body.id === hanging!.id ? 'hang' : undefined)
  await hanging!.notify('a')
  await until(() => stuck.attempts.length > 0 && healthy.attempts.length > 0)
  for (const other of others) for (const topic of ['a', 'b']) await other.notify(topic)
  await until(() => healthy.accepted.length === others.length * 2)
  expect(healthy.faults).toEqual([])
  expect(stuck.accepted).toEqual([])
})

test('an attempt without a response in time fails and is repeated', async () => {
  await using dir = await tempDir()
  await using storage = await openSqlite({ path: dir.file('parley.db') })
  await using receiver = await startWebhookReceiver({ behave: () => 'hang' })
  await using _webhooks = await deliverTo({
    targets: [target(receiver)],
    storage,
    timeoutMs: 100,
  })
  const { notify } = await conversation(storage)
  await notify('a')
  const newest = async () => (await storage.outbox.list({ limit: 1 })).items[0]
  await expect.poll(async () => (await newest())?.last_error).toBe('no answer within 0.1 s')
  receiver.behave = () => undefined
  await expect.poll(async () => (await newest())?.status).toBe('delivered')
  expect(receiver.accepted).toHaveLength(1)
})

test('a refused delivery is parked at once, does not delay the next one, and is sent again on request', async () => {
  await using dir = await tempDir()
  await using storage = await openSqlite({ path: dir.file('parley.db') })
  await using receiver = await startWebhookReceiver({
    behave: ({ body }) => (body.topic === 'a' ? { status: 422 } : undefined),
  })
  await using _webhooks = await deliverTo({ targets: [target(receiver)], storage })
  const { id, notify } = await conversation(storage)
  await notify('a')
  await notify('b')
  await until(() => topics(receiver, id).includes('b'))
  const parked = (await storage.outbox.list({ status: 'parked', limit: 9 })).items
  expect(parked).toMatchObject([{ topic: 'a', attempts: 1, last_status: 422, last_error: 'HTTP 422' }])
  receiver.behave = () => undefined
  expect(await storage.outbox.redeliver(parked[0]!.id)).toBe('queued')
  await until(() => topics(receiver, id).length === 2)
  const ids = receiver.attempts.filter(({ body }) => body.topic === 'a').map(({ headers }) => headers['webhook-id'])
  expect(new Set(ids)).toEqual(new Set([parked[0]!.id]))
})

test('a wait in Retry-After is honoured', async () => {
  await using dir = await tempDir()
  await using storage = await openSqlite({ path: dir.file('parley.db') })
  await using receiver = await startWebhookReceiver({
    behave: (_, attempt) => (attempt === 1 ? { status: 503, headers: { 'retry-after': '1' } } : undefined),
  })
  await using _webhooks = await deliverTo({ targets: [target(receiver)], storage })
  const { notify } = await conversation(storage)
  const from = performance.now()
  await notify('a')
  await until(() => receiver.accepted.length === 1)
  expect(performance.now() - from).toBeGreaterThanOrEqual(990)
})

test('configured headers are sent, and headers of Parley replace those of the same name in any case', async () => {
  await using dir = await tempDir()
  await using storage = await openSqlite({ path: dir.file('parley.db') })
  const secret = `whsec_${Buffer.alloc(24, 3).toString('base64')}`
  await using receiver = await startWebhookReceiver({ secret })
  const headers = { 'X-Tenant': 'seven', 'X-Session-Api-Key': 'configured', 'Webhook-Id': 'forged' }
  const targets = [target(receiver, { headers, secret, api_key: 'the-key' })]
  await using _webhooks = await deliverTo({ targets, storage })
  const { notify } = await conversation(storage)
  await notify('conversation.paused')
  await until(() => receiver.accepted.length === 1)
  expect(receiver.accepted[0]!.headers).toMatchObject({
    'x-tenant': 'seven',
    'x-session-api-key': 'the-key',
    'x-parley-event': 'conversation.paused',
    'x-parley-sequence': '1',
    'content-type': 'application/json',
  })
  expect(receiver.faults).toEqual([])
})

test('events are sent in batches of the configured size, the rest after the delay, and all when the conversation is deleted', async () => {
  await using dir = await tempDir()
  await using storage = await openSqlite({ path: dir.file('parley.db') })
  await using receiver = await startWebhookReceiver()
  const targets = [target(receiver, { events: true, event_buffer_size: 3, flush_delay: 0.2 })]
  await using _webhooks = await deliverTo({ targets, storage })
  const { id, append } = await conversation(storage)
  await append(2)
  await until(() => seqsOf(receiver, id).length === 1)
  await append(7)
  await until(() => seqsOf(receiver, id).length === 4)
  expect(seqsOf(receiver, id)).toEqual([
    [1, 2],
    [3, 3],
    [6, 3],
    [9, 1],
  ])
  expect(receiver.about(id)[0]!.body[0]).toMatchObject({ kind: 'PauseEvent', parent_id: null })

  const other = await conversation(storage)
  await receiver.down()
  await other.append(5)
  await storage.conversations.delete(other.id)
  await receiver.up()
  await until(() => seqsOf(receiver, other.id).length === 2)
  expect(seqsOf(receiver, other.id)).toEqual([
    [1, 3],
    [4, 2],
  ])
  expect(receiver.faults).toEqual([])
})

test('deliveries that were running or waiting at the end of a process are sent by the next one with the same id', async () => {
  await using dir = await tempDir()
  const path = dir.file('parley.db')
  await using receiver = await startWebhookReceiver({ behave: () => 'hang' })
  const targets = [target(receiver, { events: true, flush_delay: 60 })]
  let id: ConversationId
  {
    await using storage = await openSqlite({ path })
    await using _webhooks = await deliverTo({ targets, storage })
    const made = await conversation(storage)
    id = made.id
    await made.append(2)
    await made.notify('a')
    await made.notify('b')
    await until(() => receiver.attempts.length > 0)
  }
  receiver.behave = () => undefined
  await using storage = await openSqlite({ path })
  await using _webhooks = await deliverTo({ targets, storage })
  await until(() => receiver.about(id).length === 3)
  const [first, ...again] = receiver.attempts
    .filter(({ body }) => body.topic === 'a')
    .map(({ headers }) => headers['webhook-id'])
  expect(again).toEqual([first])
  expect(receiver.faults).toEqual([])
})

test('deliveries continue at once when the clock is set back by a year', async () => {
  await using dir = await tempDir()
  let offsetMs = 365 * 24 * 3600 * 1000
  const clock = () => new Date(Date.now() + offsetMs)
  await using storage = await openSqlite({ path: dir.file('parley.db'), now: clock })
  await using receiver = await startWebhookReceiver({ behave: () => ({ status: 503 }) })
  await using _webhooks = await deliverTo({ targets: [target(receiver)], storage })
  const [failing, cut] = [await conversation(storage), await conversation(storage)]
  await failing.notify('a')
  await until(() => receiver.attempts.length > 1)
  await receiver.down()
  await cut.notify('b')
  offsetMs = 0
  receiver.behave = () => undefined
  await receiver.up()
  await until(() => receiver.accepted.length === 2)
  expect(receiver.faults).toEqual([])
})

test('while a target is unreachable, deliveries older than a day are parked, those never attempted too, and the others wait', async () => {
  await using dir = await tempDir()
  let offsetMs = 0
  const clock = () => new Date(Date.now() + offsetMs)
  await using storage = await openSqlite({ path: dir.file('parley.db'), now: clock })
  await using receiver = await startWebhookReceiver()
  await receiver.down()
  const deps = { storage, uptimeMs: () => performance.now() + offsetMs }
  await using _webhooks = await deliverTo({ targets: [target(receiver, { retry_delay: 0.001 })], ...deps })
  const old = await Promise.all(Array.from({ length: 3 }, () => conversation(storage)))
  for (const { notify } of old) for (const topic of ['a', 'b']) await notify(topic)
  await until(async () => (await storage.outbox.list({ limit: 9 })).items.some(({ last_error }) => last_error !== null))
  offsetMs = 25 * 3600 * 1000
  const young = await conversation(storage)
  await young.notify('c')
  const listed = async (status: 'parked' | 'pending') => (await storage.outbox.list({ status, limit: 9 })).items
  await until(async () => (await listed('parked')).length === 6)
  for (const { last_error } of await listed('parked'))
    expect(last_error).toBe('the target was unreachable; given up after a day')
  expect(await listed('pending')).toMatchObject([{ topic: 'c' }])
  await receiver.up()
  await until(() => receiver.accepted.length === 1)
})

test('beyond the bound of waiting deliveries, the oldest are parked', async () => {
  await using dir = await tempDir()
  const path = dir.file('parley.db')
  await using receiver = await startWebhookReceiver()
  await receiver.down()
  const targets = [target(receiver)]
  {
    await using storage = await openSqlite({ path })
    await using _webhooks = await deliverTo({ targets, storage })
    const { notify } = await conversation(storage)
    for (const topic of ['a', 'b', 'c', 'd']) await notify(topic)
  }
  await using storage = await openSqlite({ path })
  await using _webhooks = await deliverTo({ targets, storage, maxWaiting: 2 })
  const parked = async () => (await storage.outbox.list({ status: 'parked', limit: 9 })).items
  await until(async () => (await parked()).length === 2)
  await receiver.up()
  await until(() => receiver.accepted.length === 2)
  const sent = receiver.accepted.map(({ body }) => body.topic as string)
  const left = (await parked()).map(({ topic }) => topic)
  expect([...left, ...sent].toSorted()).toEqual(['a', 'b', 'c', 'd'])
  // The delivery that is being attempted is never parked.
  expect(sent.at(-1)).toBe('d')
})
