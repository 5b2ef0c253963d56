import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { startScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { freePort, startServerProcess, type ServerProcess } from '../../packages/server/testing/server-process.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { receivedUntil, startWebhookReceiver } from '../../packages/server/testing/webhook-receiver.ts'
import { until } from '../crash/watching.ts'
import { verifies } from '../verifies.ts'
import { FINISH, SECRET, starting, telling } from './serving.ts'

const CONVERSATIONS = 200
const AT_ONCE = 10
const DOWN_MS = 60_000
/** Progress, in finished steps of four per conversation, at which the sender is killed. */
const KILLS = [150, 450]
/** Requests to the receiver that fails now and then, after which the sender is killed once more. */
const KILL_AMONG_FAILURES = 60

verifies(
  ['design.webhook.at-least-once', 'design.webhook.ordered'],
  'with a receiver that is down, then slow, then failing now and then, and a sender that is killed three times, everything arrives once and in order',
  async () => {
    await using dir = await tempDir()
    await using model = await startScriptedModel({ respond: () => FINISH })
    await using receiver = await startWebhookReceiver({ secret: SECRET })
    await receiver.down()
    const port = await freePort()
    const env = {
      ...telling([receiver.url], { events: true, event_buffer_size: 20, flush_delay: 0.3 }),
      PARLEY_MAX_CONCURRENT_RUNS: '8',
    }
    const startSender = () => startServerProcess({ dataDir: dir.file('data'), port, env })
    let sender: ServerProcess = await startSender()
    await using _last = { [Symbol.asyncDispose]: () => sender[Symbol.asyncDispose]() }

    let steps = 0
    let killsAmongFailures = 0
    let downtime: Promise<void> | null = null
    const killAndRestart = async () => {
      await sender.kill()
      sender = await startSender()
      downtime = null
    }
    /** One kill after the other, however they come. */
    const kill = () => (downtime = (downtime ?? Promise.resolve()).then(killAndRestart))
    const kills = [...KILLS]
    /** Repeats a request until it is answered, over as many senders as it takes. */
    const ask = async (method: string, path: string, body?: unknown): Promise<any> => {
      for (;;) {
        await downtime
        const answer = await sender.call(method, path, body).catch(() => null)
        if (answer !== null && answer.status < 500) return answer.body
        await sleep(50)
      }
    }
    const step = async (method: string, path: string, body?: unknown): Promise<void> => {
      await ask(method, path, body)
      steps += 1
      if (kills.length === 0 || steps < kills[0]!) return
      kills.shift()
      void kill()
    }

    const left = Array.from({ length: CONVERSATIONS }, () => randomUUID())
    const all = [...left]
    const counts = new Map<string, number>()
    const live = async () => {
      for (let id = left.pop(); id !== undefined; id = left.pop()) {
        const at = `/api/conversations/${id}`
        await step('POST', '/api/conversations', starting(dir.file('work'), model, { conversation_id: id }))
        await step('POST', `${at}/pause`)
        await step('POST', `${at}/run`)
        if (left.length % 2 === 0) {
          await until(async () => (await ask('GET', at)).execution_status === 'finished', 30_000)
          counts.set(id, await ask('GET', `${at}/events/count`))
        }
        await step('DELETE', at)
      }
    }

    const receiving = (async () => {
      await sleep(DOWN_MS)
      receiver.behave = async () => {
        await sleep(100)
        return undefined
      }
      await receiver.up()
      await receivedUntil(() => receiver.taken.length > CONVERSATIONS, 45_000)
      let requests = 0
      receiver.behave = (_, attempt) => {
        requests += 1
        // Every third failure comes after the delivery was taken: its repetition must not be taken again.
        return requests % 4 === 0 && attempt < 4 ? { status: 500, isTakenFirst: requests % 3 === 0 } : undefined
      }
      await receivedUntil(() => requests >= KILL_AMONG_FAILURES, 30_000)
      await kill()
      // It was in the midst of it: the next sender has more to say.
      const before = requests
      await receivedUntil(() => requests > before, 30_000)
      killsAmongFailures += 1
    })()
    await Promise.all([receiving, ...Array.from({ length: AT_ONCE }, live)])
    const told = (id: string) => receiver.about(id).filter(({ path }) => path === '/conversations')
    const isOver = (id: string) => told(id).at(-1)?.headers['x-parley-event'] === 'conversation.deleted'
    const events = (id: string) =>
      receiver.about(id).reduce((sum, { path, body }) => (path === '/conversations' ? sum : sum + body.length), 0)
    await receivedUntil(() => all.every(isOver), 30_000)
    await receivedUntil(() => [...counts].every(([id, count]) => events(id) >= count), 30_000)

    expect(kills).toEqual([])
    expect(killsAmongFailures).toBe(1)
    // Sequences without gap or step back, per conversation, and valid signatures: the receiver looks at each.
    expect(receiver.faults).toEqual([])
    for (const id of all) {
      const names = told(id).map(({ headers }) => headers['x-parley-event'])
      expect(names.slice(0, 3)).toEqual(['conversation.started', 'conversation.paused', 'conversation.resumed'])
      expect(told(id).at(-1)!.body).toMatchObject({ id, execution_status: 'deleting' })
    }
    expect(receiver.attempts.length).toBeGreaterThan(receiver.taken.length)
    await until(
      async () => (await sender.call('GET', '/api/webhooks/deliveries?status=pending')).body.items.length === 0,
    )
    expect((await sender.call('GET', '/api/webhooks/deliveries?status=parked')).body.items).toEqual([])
    console.log(`webhooks: ${receiver.taken.length} deliveries in ${receiver.attempts.length} attempts, 3 kills`)
  },
  240_000,
)
