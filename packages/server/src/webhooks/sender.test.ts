import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { tempDir } from '../../testing/temp.ts'
import { startWebhookReceiver, type ReceiverBehaviour } from '../../testing/webhook-receiver.ts'
import { until } from '../../testing/until.ts'
import { openSqlite, type OutboxStore } from '../storage/index.ts'
import { conversation, deliverTo, event, log, now, seqsOf, target } from './deliver.testing.ts'
import type { WebhookTarget } from './index.ts'

type BenchOptions = {
  target?: Partial<WebhookTarget>
  behave?: ReceiverBehaviour
  now?: () => Date
  confirm?: (signal: AbortSignal) => Promise<void>
  outbox?: (outbox: OutboxStore) => OutboxStore
}

/** A store, one receiver, and the delivery between them. */
async function bench(options: BenchOptions = {}) {
  const dir = await tempDir()
  const path = dir.file('parley.db')
  const storage = await openSqlite({ path, now: options.now ?? now })
  const receiver = await startWebhookReceiver(options.behave === undefined ? {} : { behave: options.behave })
  const warnings: object[] = []
  const webhooks = await deliverTo({
    storage,
    targets: [target(receiver, options.target)],
    outbox: options.outbox?.(storage.outbox) ?? storage.outbox,
    storePauseMs: 20,
    ...(options.confirm && { confirm: options.confirm }),
    log: { ...log, warn: (fields: object) => warnings.push(fields), error: () => undefined } as unknown as typeof log,
  })
  return {
    path,
    storage,
    receiver,
    warnings,
    close: () => webhooks[Symbol.asyncDispose](),
    deliveries: async () => (await storage.outbox.list({ limit: 100 })).items.toReversed(),
    async [Symbol.asyncDispose]() {
      await webhooks[Symbol.asyncDispose]()
      await receiver[Symbol.asyncDispose]()
      await storage[Symbol.asyncDispose]()
      await dir[Symbol.asyncDispose]()
    },
  }
}

/** A store that calls `before` with the name and the arguments of each operation, which fails if that throws. */
function observed(outbox: OutboxStore, before: (operation: string, ...args: any[]) => void): OutboxStore {
  return new Proxy(outbox, {
    get(store, name) {
      const member = store[name as keyof OutboxStore] as (...args: unknown[]) => unknown
      return (...args: unknown[]) => {
        before(String(name), ...args)
        return member.apply(store, args)
      }
    },
  })
}

test('a batch contains only the shown form of its events, without the secrets of a changed state', async () => {
  await using at = await bench({ target: { events: true, event_buffer_size: 2 } })
  const { id, append } = await conversation(at.storage)
  const analyzer = { kind: 'GraySwanAnalyzer', api_key: 'analyzer-key-0815' }
  const changed = { kind: 'StateChangedEvent', source: 'environment', key: 'security_analyzer', value: analyzer }
  await append([event(), event({ ...changed, parent_id: undefined })])
  await until(() => at.receiver.about(id).length === 1)
  const [sent] = at.receiver.about(id)
  expect(sent!.text).not.toContain('analyzer-key-0815')
  expect(sent!.body).toMatchObject([
    { kind: 'PauseEvent' },
    { kind: 'ConversationStateUpdateEvent', key: 'security_analyzer', value: { api_key: '**********' } },
  ])
})

test('a batch of which an event is no longer stored is parked and never sent', async () => {
  await using at = await bench({
    target: { events: true, event_buffer_size: 3, retry_delay: 1 },
    behave: () => ({ status: 503 }),
  })
  const { append } = await conversation(at.storage)
  await append(3)
  await until(async () => (await at.deliveries())[0]?.attempts === 1)
  using database = new DatabaseSync(at.path)
  database.exec('DELETE FROM events WHERE seq = 2')
  at.receiver.behave = () => undefined
  await until(async () => (await at.deliveries())[0]?.status === 'parked')
  expect(await at.deliveries()).toMatchObject([
    { kind: 'events', last_error: 'what it carried is no longer stored', last_status: null },
  ])
  expect(at.receiver.accepted).toEqual([])
  expect(at.warnings).toMatchObject([{ topic: 'conversation.events', reason: 'what it carried is no longer stored' }])
})

test('a delivery is given up a day after its first attempt', async () => {
  let passedMs = 0
  await using at = await bench({
    behave: () => ({ status: 503 }),
    now: () => new Date(Date.now() + passedMs),
  })
  const { notify } = await conversation(at.storage)
  await notify('a')
  await until(async () => (await at.deliveries())[0]!.attempts > 0)
  expect((await at.deliveries())[0]).toMatchObject({ status: 'pending', last_error: 'HTTP 503' })
  passedMs = 24 * 3600 * 1000
  await until(async () => (await at.deliveries())[0]!.status === 'parked')
  expect(await at.deliveries()).toMatchObject([{ last_error: 'HTTP 503; given up after a day', last_status: 503 }])
  expect(at.warnings).toHaveLength(1)
})

test('an attempt without a connection is not counted, and the delivery is sent when the target returns', async () => {
  await using at = await bench()
  await at.receiver.down()
  const { notify } = await conversation(at.storage)
  await notify('a')
  await until(async () => (await at.deliveries())[0]?.last_error === 'ECONNREFUSED')
  expect(await at.deliveries()).toMatchObject([{ status: 'pending', attempts: 0 }])
  await at.receiver.up()
  await until(async () => (await at.deliveries())[0]?.status === 'delivered')
  expect(await at.deliveries()).toMatchObject([{ attempts: 1, last_status: 200, last_error: null }])
  expect(at.warnings).toEqual([])
})

test('an unreachable target is probed by one attempt at a time, however many deliveries wait', async () => {
  const running = new Set<string>()
  let most = 0
  let ended = 0
  const count = (operation: string, id: string) => {
    if (operation === 'begin') most = Math.max(most, running.add(id).size)
    if (operation === 'record' && running.delete(id)) ended += 1
  }
  await using at = await bench({ outbox: (outbox) => observed(outbox, count) })
  await at.receiver.down()
  const [first, ...others] = await Promise.all(Array.from({ length: 5 }, () => conversation(at.storage)))
  await first!.notify('a')
  await until(() => ended > 0)
  for (const { notify } of others) await notify('a')
  const before = ended
  await until(() => ended >= before + 3)
  expect(most).toBe(1)
})

test('when an unreachable target responds, the waiting deliveries are sent beside each other', async () => {
  await using at = await bench()
  at.receiver.behave = () => (at.receiver.attempts.length === 1 ? undefined : 'hang')
  await at.receiver.down()
  const conversations = await Promise.all(Array.from({ length: 4 }, () => conversation(at.storage)))
  for (const { notify } of conversations) await notify('a')
  await until(async () => (await at.deliveries()).some(({ last_error }) => last_error === 'ECONNREFUSED'))
  await at.receiver.up()
  await until(() => at.receiver.attempts.length === 4)
  expect(at.receiver.accepted).toHaveLength(1)
})

test('the waits between the attempts of a delivery grow', async () => {
  const waits: number[] = []
  const note = (operation: string, _: string, outcome: { at: string; next_attempt_at: string }) => {
    if (operation === 'record') waits.push(Date.parse(outcome.next_attempt_at) - Date.parse(outcome.at))
  }
  await using at = await bench({ outbox: (outbox) => observed(outbox, note), behave: () => ({ status: 503 }) })
  const { notify } = await conversation(at.storage)
  await notify('a')
  await until(() => waits.length >= 4)
  // The first wait is at most 10 ms, and the jitter keeps at least half of the fourth, which is 80 ms.
  expect(waits[0]).toBeLessThanOrEqual(10)
  expect(waits[3]).toBeGreaterThanOrEqual(40)
})

test('the waiting events of a deleted conversation are sent at once, although they do not fill a batch', async () => {
  await using at = await bench({ target: { events: true, event_buffer_size: 3 } })
  const few = await conversation(at.storage)
  await few.append(2)
  await at.storage.conversations.delete(few.id)
  await until(() => at.receiver.about(few.id).length === 1)
  expect(seqsOf(at.receiver, few.id)).toEqual([[1, 2]])
  // The first batch is on its way when the conversation is deleted.
  await at.receiver.down()
  const more = await conversation(at.storage)
  await more.append(5)
  await at.storage.conversations.delete(more.id)
  await at.receiver.up()
  await until(() => at.receiver.about(more.id).length === 2)
  expect(seqsOf(at.receiver, more.id)).toEqual([
    [1, 3],
    [4, 2],
  ])
})

test('after a refused batch the next batch of the conversation is sent', async () => {
  await using at = await bench({
    target: { events: true, event_buffer_size: 3 },
    behave: ({ headers }) => (headers['x-parley-sequence'] === '1' ? { status: 400 } : undefined),
  })
  const { id, append } = await conversation(at.storage)
  await append(6)
  await until(() => at.receiver.accepted.length === 1)
  expect(seqsOf(at.receiver, id)).toEqual([[4, 3]])
  expect((await at.deliveries()).map(({ status }) => status)).toContain('parked')
})

test('more deliveries than may run at once are all sent, each once', async () => {
  await using at = await bench()
  const conversations = await Promise.all(Array.from({ length: 40 }, () => conversation(at.storage)))
  await Promise.all(conversations.map(({ notify }) => notify('a')))
  await until(() => at.receiver.accepted.length === 40)
  await until(async () => (await at.deliveries()).every(({ status }) => status === 'delivered'))
  expect(at.receiver.attempts).toHaveLength(40)
})

test('at most 16 attempts of a target run at once', async () => {
  let running = 0
  let most = 0
  await using at = await bench({
    behave: async () => {
      most = Math.max(most, ++running)
      await new Promise((resolve) => setTimeout(resolve, 20))
      running -= 1
      return undefined
    },
  })
  const conversations = await Promise.all(Array.from({ length: 40 }, () => conversation(at.storage)))
  await Promise.all(conversations.map(({ notify }) => notify('a')))
  await until(() => at.receiver.accepted.length === 40)
  expect(most).toBeLessThanOrEqual(16)
})

test.each(['due', 'record'])('a store that fails once in "%s" delays a delivery and loses none', async (name) => {
  let failing: string | null = null
  const failOnce = (operation: string) => {
    if (operation !== failing) return
    failing = null
    throw new Error('the disk is full')
  }
  await using at = await bench({ outbox: (outbox) => observed(outbox, failOnce) })
  const { id, notify } = await conversation(at.storage)
  failing = name
  await notify('a')
  await until(async () => (await at.deliveries())[0]?.status === 'delivered')
  expect(failing).toBeNull()
  expect(at.receiver.about(id)).toHaveLength(1)
  expect(new Set(at.receiver.attempts.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
})

test('closing aborts the running attempts, whose deliveries stay pending', async () => {
  await using at = await bench({ behave: () => 'hang' })
  const { notify } = await conversation(at.storage)
  await notify('a')
  await until(() => at.receiver.attempts.length === 1)
  await at.close()
  expect(await at.deliveries()).toMatchObject([{ status: 'pending', attempts: 0 }])
  expect(at.warnings).toEqual([])
})

test('notifications carry the headers of their topic and number, and no key when none is configured', async () => {
  await using at = await bench()
  const { id, notify } = await conversation(at.storage)
  await notify('a')
  await notify('b')
  await until(() => at.receiver.about(id).length === 2)
  expect(at.receiver.about(id)).toMatchObject([
    { path: '/conversations', headers: { 'x-parley-event': 'a', 'x-parley-sequence': '1' } },
    { path: '/conversations', headers: { 'x-parley-event': 'b', 'x-parley-sequence': '2' } },
  ])
  expect(at.receiver.attempts[0]!.headers).not.toHaveProperty('x-session-api-key')
})

test('a sender begins no attempt after another one leads the target', async () => {
  let refused = 0
  const outbox = (inner: OutboxStore): OutboxStore =>
    new Proxy(inner, {
      get(store, name) {
        if (name !== 'begin') return Reflect.get(store, name).bind(store) as unknown
        return async (...args: Parameters<OutboxStore['begin']>) => {
          const answer = await store.begin(...args)
          if (answer.kind === 'refused') refused += 1
          return answer
        }
      },
    })
  await using at = await bench({ outbox })
  const { notify } = await conversation(at.storage)
  await notify('a')
  await until(() => at.receiver.accepted.length === 1)
  await at.storage.outbox.lead(at.receiver.url, 2)
  await notify('b')
  await until(() => refused > 1)
  expect(at.receiver.attempts).toHaveLength(1)
  expect((await at.deliveries()).map(({ status }) => status)).toEqual(['delivered', 'pending'])
})

test('a delivery waits until its node may begin effects', async () => {
  const may = Promise.withResolvers<void>()
  let asked = 0
  await using at = await bench({
    confirm: async () => {
      asked += 1
      await may.promise
    },
  })
  const { notify } = await conversation(at.storage)
  await notify('a')
  await until(() => asked === 1)
  expect(at.receiver.attempts).toEqual([])
  may.resolve()
  await until(() => at.receiver.accepted.length === 1)
})
