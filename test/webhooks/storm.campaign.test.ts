import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { startScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { freePort } from '../../packages/server/testing/free-port.ts'
import { startServerProcess, type ServerProcess } from '../../packages/server/testing/server-process.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { byForm, timeoutFor } from '../../packages/server/testing/campaign.ts'
import { startWebhookReceiver } from '../../packages/server/testing/webhook-receiver.ts'
import { until } from '../../packages/server/testing/until.ts'
import { verifies } from '../verifies.ts'
import { FINISH, WEBHOOK_SECRET, startRequest, webhookEnv } from '../../packages/server/testing/webhook-servers.ts'

const CONVERSATIONS = byForm({ test: 40, campaign: 200, soak: 1000 })
const AT_ONCE = 10
/** Milliseconds that the receiver is down at the start. */
const DOWN_MS = byForm({ test: 3000, campaign: 60_000, soak: 600_000 })
/** Numbers of finished steps, four per conversation, at which the sender is killed. */
const KILLS = [0.75, 2.25].map((steps) => steps * CONVERSATIONS)
/** Number of requests to the failing receiver after which the sender is killed again. */
const KILL_AMONG_FAILURES = byForm({ test: 20, campaign: 60 })

verifies(
  ['design.webhook.at-least-once', 'design.webhook.ordered'],
  'all webhooks arrive once and in order although the receiver is down, slow and failing and the sender is killed three times',
  async () => {
    await using dir = await tempDir()
    await using model = await startScriptedModel({ respond: () => FINISH })
    await using receiver = await startWebhookReceiver({ secret: WEBHOOK_SECRET })
    await receiver.down()
    const port = await freePort()
    const env = {
      ...webhookEnv([receiver.url], { events: true, event_buffer_size: 20, flush_delay: 0.3 }),
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
    /** Runs one kill after the other. */
    const kill = () => (downtime = (downtime ?? Promise.resolve()).then(killAndRestart))
    const kills = [...KILLS]
    /** Repeats a request until a sender answers it. */
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
        await step('POST', '/api/conversations', startRequest(dir.file('work'), model, { conversation_id: id }))
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
      await until(() => receiver.accepted.length > CONVERSATIONS, 45_000)
      let requests = 0
      receiver.behave = (_, attempt) => {
        requests += 1
        // Every third failure accepts the delivery, whose repetition must not be accepted again.
        return requests % 4 === 0 && attempt < 4 ? { status: 500, isAccepted: requests % 3 === 0 } : undefined
      }
      await until(() => requests >= KILL_AMONG_FAILURES, 30_000)
      await kill()
      // The kill interrupted the delivery, so the next sender continues.
      const before = requests
      await until(() => requests > before, 30_000)
      killsAmongFailures += 1
    })()
    await Promise.all([receiving, ...Array.from({ length: AT_ONCE }, live)])
    const notifications = (id: string) => receiver.about(id).filter(({ path }) => path === '/conversations')
    const isDeleted = (id: string) => notifications(id).at(-1)?.headers['x-parley-event'] === 'conversation.deleted'
    const events = (id: string) =>
      receiver.about(id).reduce((sum, { path, body }) => (path === '/conversations' ? sum : sum + body.length), 0)
    await until(() => all.every(isDeleted), 30_000)
    await until(() => [...counts].every(([id, count]) => events(id) >= count), 30_000)

    expect(kills).toEqual([])
    expect(killsAmongFailures).toBe(1)
    // The receiver checks that sequences have no gap or step back and that signatures are valid.
    expect(receiver.faults).toEqual([])
    for (const id of all) {
      const names = notifications(id).map(({ headers }) => headers['x-parley-event'])
      expect(names.slice(0, 3)).toEqual(['conversation.started', 'conversation.paused', 'conversation.resumed'])
      expect(notifications(id).at(-1)!.body).toMatchObject({ id, execution_status: 'deleting' })
    }
    expect(receiver.attempts.length).toBeGreaterThan(receiver.accepted.length)
    await until(
      async () => (await sender.call('GET', '/api/webhooks/deliveries?status=pending')).body.items.length === 0,
    )
    expect((await sender.call('GET', '/api/webhooks/deliveries?status=parked')).body.items).toEqual([])
    console.log(`webhooks: ${receiver.accepted.length} deliveries in ${receiver.attempts.length} attempts, 3 kills`)
  },
  timeoutFor(DOWN_MS / 1000 + CONVERSATIONS),
)
