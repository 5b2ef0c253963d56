import { expect, test } from 'vitest'
import { startWebhookReceiver } from '../../../server/testing/webhook-receiver.ts'
import { run, startServer, temporaryFolder } from '../testing/parley.ts'

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const KEY = 'a-key-of-the-test-of-webhooks'

test('a running server sends to a webhook target from its storing by a command to its removal', async () => {
  await using folder = await temporaryFolder()
  await using work = await temporaryFolder()
  await using receiver = await startWebhookReceiver({ secret: SECRET })
  const options = { dataDir: folder.path, env: { PARLEY_SESSION_API_KEYS: KEY } }
  const target = { base_url: `${receiver.url}/`, secret: SECRET, events: false }
  const webhooks = (words: string[], env = {}) =>
    run(['webhooks', ...words], { ...options, env: { ...options.env, ...env } })
  const { parley, url } = await startServer(options)
  await using _server = parley
  const start = async () => {
    const answer = await fetch(`${url}/api/conversations`, {
      method: 'POST',
      headers: { 'X-Session-API-Key': KEY, 'Content-Type': 'application/json' },
      body: JSON.stringify({
        workspace: { working_dir: work.path },
        agent: { kind: 'Agent', llm: { model: 'openai/none', api_key: 'none' }, tools: [] },
      }),
    })
    expect(answer.status).toBe(201)
  }
  expect((await webhooks(['add'])).stderr).toContain('no target is configured')
  expect(await webhooks(['add'], { PARLEY_WEBHOOKS: JSON.stringify([target]) })).toMatchObject({
    code: 0,
    stdout: `stored ${receiver.url}\n`,
  })
  const list = (await webhooks(['list'])).stdout
  expect(list).toMatch(new RegExp(`^${receiver.url} +notifications +command +20`, 'm'))
  expect(list).not.toContain(SECRET)
  await expect
    .poll(
      async () => {
        await start()
        return receiver.accepted.length
      },
      { timeout: 15_000 },
    )
    .toBeGreaterThan(0)
  expect(receiver.faults).toEqual([])

  expect(await webhooks(['remove', target.base_url])).toMatchObject({ code: 0 })
  expect((await webhooks(['remove', receiver.url])).stderr).toContain('there is no target')
  const parked = async () => {
    await start()
    const answer = await fetch(`${url}/api/webhooks/deliveries?status=pending`, {
      headers: { 'X-Session-API-Key': KEY },
    })
    return ((await answer.json()) as { items: unknown[] }).items.length
  }
  await receiver.down()
  await expect.poll(parked, { timeout: 15_000 }).toBe(0)
  expect((await webhooks(['list'])).stdout).toContain('no webhook targets')
}, 60_000)
