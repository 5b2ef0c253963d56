import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { byForm, timeoutFor } from '../../packages/server/testing/campaign.ts'
import { message, start, starting } from '../../packages/server/testing/conversations.ts'
import { startScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { KEY, startTestServer } from '../../packages/server/testing/server.ts'
import { until } from '../../packages/server/testing/until.ts'

/** Longer than a write waits for the lock. */
const LOCKED_SECONDS = byForm({ test: 4, campaign: 60 })

test(
  'while another process keeps the store locked, the server answers, the model is asked once, and the turn finishes afterwards',
  async () => {
    await using server = await startTestServer()
    const locks: DatabaseSync[] = []
    await using model = await startScriptedModel({
      respond: (_, index) => {
        if (index > 0) return { toolCalls: [{ name: 'finish', arguments: { message: 'done' } }] }
        const lock = new DatabaseSync(server.dir.file('data', 'parley.db'), { timeout: 5_000 })
        lock.exec('BEGIN IMMEDIATE')
        locks.push(lock)
        return { toolCalls: [{ name: 'terminal', arguments: { command: 'echo once >> trace; cat trace' } }] }
      },
    })
    const work = server.dir.file('work')
    const talk = await start(server, starting(model, work, { initial_message: message('begin') }))
    await until(() => locks.length === 1)
    const end = performance.now() + LOCKED_SECONDS * 1000
    const refused = fetch(`${server.url}/api/conversations/${talk.id}/events`, {
      method: 'POST',
      headers: { 'X-Session-API-Key': KEY, 'Content-Type': 'application/json' },
      body: JSON.stringify({ ...message('too early'), run: true }),
    })
    let slowestMs = 0
    while (performance.now() < end) {
      const before = performance.now()
      expect((await server.call('GET', '/alive')).status).toBe(200)
      slowestMs = Math.max(slowestMs, performance.now() - before)
      await sleep(50)
    }
    const { status, headers } = await refused
    expect([status, headers.get('retry-after')]).toEqual([503, '1'])
    expect(model.requests).toHaveLength(1)
    expect((await talk.info()).execution_status).toBe('running')
    for (const lock of locks) lock.close()
    await talk.is('finished')
    expect(model.requests).toHaveLength(2)
    const events = await talk.events()
    const outputs = events
      .filter(({ kind }) => kind === 'ObservationEvent')
      .map(({ observation }) => JSON.stringify(observation))
    expect(outputs[0]).toContain('once')
    expect(outputs[0]).not.toContain(String.raw`once\nonce`)
    expect(events.filter(({ kind }) => kind === 'ConversationErrorEvent')).toEqual([])
    expect(JSON.stringify(events)).not.toContain('too early')
    // A write that waits inside SQLite would keep every request waiting as long.
    expect(slowestMs).toBeLessThan(2_500)
  },
  timeoutFor(LOCKED_SECONDS + 30),
)
