import { expect, test } from 'vitest'
import { verifies } from '../../../../test/verifies.ts'
import { freePort } from '../../testing/free-port.ts'
import { startWebhookReceiver } from '../../testing/webhook-receiver.ts'
import { until } from '../../testing/until.ts'
import { post, TIMEOUT_MS } from './post.ts'

const never = new AbortController().signal
const headers = { 'content-type': 'application/json', 'x-parley-sequence': '1' }

verifies(
  ['design.webhook.timeout'],
  'an attempt without a response ends after its timeout, which is 30 seconds',
  async () => {
    await using receiver = await startWebhookReceiver({ behave: () => 'hang' })
    const answer = await post(`${receiver.url}/conversations`, headers, '{}', 50, never)
    expect(answer).toEqual({ kind: 'no_response', reason: 'no answer within 0.05 s' })
    expect(TIMEOUT_MS).toBe(30_000)
  },
)

test('a redirect counts as a response and is not followed', async () => {
  await using elsewhere = await startWebhookReceiver()
  await using receiver = await startWebhookReceiver({
    behave: () => ({ status: 307, headers: { location: elsewhere.url } }),
  })
  const answer = await post(`${receiver.url}/conversations`, headers, '{}', 5000, never)
  expect(answer).toMatchObject({ kind: 'response', status: 307 })
  expect(elsewhere.attempts).toEqual([])
})

test("a refused connection gives the result unreachable with the system's error code", async () => {
  const answer = await post(`http://127.0.0.1:${await freePort()}/conversations`, headers, '{}', 5000, never)
  expect(answer).toEqual({ kind: 'unreachable', reason: 'ECONNREFUSED' })
})

test('an abort rejects an attempt with its reason, long before the attempt times out', async () => {
  await using receiver = await startWebhookReceiver({ behave: () => 'hang' })
  const controller = new AbortController()
  const posting = post(`${receiver.url}/conversations`, headers, '{}', 600_000, controller.signal)
  await until(() => receiver.attempts.length === 1)
  controller.abort(new Error('aborted'))
  await expect(posting).rejects.toThrow('aborted')
}, 5_000)
