import type { StoredEvent } from '@parley/protocol'
import { expect, test } from 'vitest'
import { ANN, openBench, sharedQuotas, type Conversation } from '../../../testing/engine-bench.ts'

const BOB = { user: 'bob', role: 'user', keyId: 'key' } as const

const errorsOf = async (conversation: Conversation) =>
  (await conversation.events()).flatMap(({ event }: StoredEvent) =>
    event.kind === 'ConversationErrorEvent' ? [event.code, event.detail] : [],
  )

test('a run pauses before it asks a model when the month of its user is spent, and continues in the next month', async () => {
  let now = new Date()
  await using bench = await openBench({ quotas: sharedQuotas({ monthly_cost_usd: 1.5 }, () => now) })
  const first = await bench.start()
  await first.is('finished')
  const second = await bench.start()
  await second.is('finished')
  const third = await bench.start()
  await third.is('paused')
  expect(bench.asked.length).toBe(2)
  const month = now.toISOString().slice(0, 7)
  expect(await errorsOf(third)).toEqual([
    'MonthlyCostReached',
    `The limit monthly_cost_usd of this user is reached: 2.00 of 1.5 US dollars in ${month} (UTC). ` +
      'Continue next month, or ask the operator to raise the limit (setting user_limits).',
  ])
  const aside = bench.engine.ask(third.id, 'how far?', ANN, new AbortController().signal)
  await expect(aside).rejects.toMatchObject({ code: 'conflict', details: { limit: 'monthly_cost_usd', used: 2 } })
  await expect(bench.engine.send(third.id, { kind: 'condense' }, ANN)).rejects.toMatchObject({ code: 'conflict' })
  now = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1))
  await third.send('run')
  await third.is('finished')
  expect(bench.asked.length).toBe(3)
})

test('the judge of a goal is not asked when the month of its user is spent, and the goal can be resumed', async () => {
  let opened = 0
  const openLlm = () => {
    opened += 1
    throw new Error('no model')
  }
  const judgeModel = async () => ({}) as never
  await using bench = await openBench({ quotas: sharedQuotas({ monthly_cost_usd: 0.5 }), openLlm, judgeModel })
  const conversation = await bench.start({ isIdle: true })
  await bench.engine.send(conversation.id, { kind: 'start_goal', objective: 'Make it work.', max_iterations: 3 }, ANN)
  await conversation.is('paused')
  expect([bench.asked.length, opened]).toEqual([1, 0])
  expect(await errorsOf(conversation)).toEqual(['MonthlyCostReached', expect.stringContaining('1.00 of 0.5')])
  const goals = (await conversation.events()).flatMap(({ event }: StoredEvent) =>
    event.kind === 'StateChangedEvent' && event.key === 'goal' ? [event.value] : [],
  )
  expect(goals.at(-1)).toMatchObject({ active: false, status: 'interrupted', verdict: null })
})

test('a title is made without a model when the month of its user is spent', async () => {
  let opened = 0
  const openLlm = () => {
    opened += 1
    throw new Error('no model')
  }
  await using bench = await openBench({ quotas: sharedQuotas({ monthly_cost_usd: 0.5 }), openLlm })
  const titleOf = async (autotitle: boolean) => {
    const conversation = await bench.start({ autotitle })
    await expect.poll(async () => ['finished', 'paused'].includes(await conversation.status())).toBe(true)
    if (autotitle) await expect.poll(async () => (await bench.engine.info(conversation.id, ANN)).title).toBe('begin')
  }
  await titleOf(false)
  await titleOf(true)
  expect(opened).toBe(0)
})

test('the costs of one user leave those of another as they are', async () => {
  await using bench = await openBench({ quotas: sharedQuotas({ monthly_cost_usd: 0.5 }) })
  const ofBob = await bench.start({ by: BOB })
  const ofAnn = await bench.start()
  await ofAnn.is('finished')
  await expect.poll(async () => (await bench.engine.info(ofBob.id, BOB)).execution_status).toBe('finished')
  expect(bench.asked.length).toBe(2)
})

test('beyond the stored bytes a run pauses, new input is refused, and a deletion makes room', async () => {
  await using bench = await openBench({ quotas: sharedQuotas({ stored_bytes: 1 }) })
  const first = await bench.start()
  await first.is('paused')
  expect(bench.asked.length).toBe(0)
  const [code, detail] = await errorsOf(first)
  expect(code).toBe('StoredBytesReached')
  expect(detail).toMatch(
    /^The limit stored_bytes of this user is reached: \d+ of 1 bytes\. Delete conversations, or ask/,
  )
  const full = { code: 'insufficient_storage', details: { limit: 'stored_bytes', allowed: 1 } }
  await expect(first.say('more')).rejects.toMatchObject(full)
  await expect(bench.start()).rejects.toMatchObject(full)
  await expect(bench.engine.fork(first.id, { reset_metrics: false }, ANN)).rejects.toMatchObject(full)
  // Another user has room, and the first has it again after a deletion.
  await bench.start({ by: BOB, isIdle: true })
  await bench.engine.delete(first.id, ANN)
  await bench.start({ isIdle: true })
})
