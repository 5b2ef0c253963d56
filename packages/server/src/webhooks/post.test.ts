import { expect, test } from 'vitest'
import { verifies } from '../../../../test/verifies.ts'
import { freePort } from '../../testing/server-process.ts'
import { receivedUntil, startWebhookReceiver } from '../../testing/webhook-receiver.ts'
import { post, TIMEOUT_MS } from './post.ts'

const never = new AbortController().signal
const headers = { 'content-type': 'application/json', 'x-parley-sequence': '1' }

verifies(
  ['design.webhook.timeout'],
  'an attempt without an answer is over after its time, which is 30 seconds',
  async () => {
    await using receiver = await startWebhookReceiver({ behave: () => 'hang' })
    const answer = await post(`${receiver.url}/conversations`, headers, '{}', 50, never)
    expect(answer).toEqual({ kind: 'silence', reason: 'no answer within 0.05 s' })
    expect(TIMEOUT_MS).toBe(30_000)
  },
)

test('a redirect is an answer, and is not followed', async () => {
  await using elsewhere = await startWebhookReceiver()
  await using receiver = await startWebhookReceiver({
    behave: () => ({ status: 307, headers: { location: elsewhere.url } }),
  })
  const answer = await post(`${receiver.url}/conversations`, headers, '{}', 5000, never)
  expect(answer).toMatchObject({ kind: 'answered', status: 307 })
  expect(elsewhere.attempts).toEqual([])
})

test("nobody there is silence with the system's reason", async () => {
  const answer = await post(`http://127.0.0.1:${await freePort()}/conversations`, headers, '{}', 5000, never)
  expect(answer).toEqual({ kind: 'unreached', reason: 'ECONNREFUSED' })
})

test('calling it off rejects at once with the reason', async () => {
  await using receiver = await startWebhookReceiver({ behave: () => 'hang' })
  const controller = new AbortController()
  const posting = post(`${receiver.url}/conversations`, headers, '{}', 5000, controller.signal)
  await receivedUntil(() => receiver.attempts.length === 1)
  controller.abort(new Error('called off'))
  await expect(posting).rejects.toThrow('called off')
})
