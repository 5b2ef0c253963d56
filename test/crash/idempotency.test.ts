/** A server that is killed between the beginning of a request with an `Idempotency-Key` and its answer. */
import { expect, test } from 'vitest'
import { start, starting } from '../../packages/server/testing/conversations.ts'
import { startScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { startServerProcess, TEST_KEY, type ServerProcess } from '../../packages/server/testing/server-process.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { until } from '../../packages/server/testing/until.ts'

async function post(server: ServerProcess, path: string, body: unknown, key: string) {
  const answer = await fetch(server.url + path, {
    method: 'POST',
    headers: { 'X-Session-API-Key': TEST_KEY, 'Content-Type': 'application/json', 'Idempotency-Key': key },
    body: JSON.stringify(body),
  })
  const replayed = answer.headers.get('idempotency-replayed')
  return { status: answer.status, replayed, body: (await answer.json()) as { reason?: string; detail?: string } }
}

test.each([
  ['before', 0],
  ['after', 1],
] as const)(
  'a server that is killed %s a keyed request took effect reports its outcome as unknown and does not carry it out again',
  async (when, stored) => {
    await using dir = await tempDir()
    const dataDir = dir.file('data')
    await using model = await startScriptedModel({ answers: [{ text: 'unused' }] })
    const message = { content: [{ type: 'text', text: 'hello' }], run: false }
    await using first = await startServerProcess({ dataDir, crash: { at: 'MessageEvent', when } })
    const { id } = await start(first, starting(model, dir.file('work')))
    const at = `/api/conversations/${id}`
    await until(async () => (await first.call('GET', `${at}/status`)).body.status === 'RUNNING')
    const policy = { policy: { kind: 'NeverConfirm' } }
    expect((await post(first, `${at}/confirmation_policy`, policy, 'answered')).status).toBe(200)
    await expect(post(first, `${at}/events`, message, 'cut-off')).rejects.toThrow()
    await first.exited

    await using second = await startServerProcess({ dataDir })
    const answered = await post(second, `${at}/confirmation_policy`, policy, 'answered')
    expect([answered.status, answered.replayed]).toEqual([200, 'true'])
    const messages = async () =>
      (await second.call('GET', `${at}/events/search?kind=MessageEvent`)).body.items.length as number
    for (let attempt = 0; attempt < 2; attempt++) {
      const repeated = await post(second, `${at}/events`, message, 'cut-off')
      expect([repeated.status, repeated.body.reason]).toEqual([409, 'idempotency_outcome_unknown'])
      expect(repeated.body.detail).toContain('new key')
    }
    expect(await messages()).toBe(stored)
    expect((await post(second, `${at}/events`, message, 'new')).status).toBe(200)
    expect(await messages()).toBe(stored + 1)
  },
)
