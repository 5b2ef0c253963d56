/** No key of this server leaves it with a webhook. */
import { expect, test } from 'vitest'
import { openKeys, readConfig, startServer } from '../../packages/server/src/index.ts'
import { KEY } from '../../packages/server/testing/server.ts'
import { startScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { startServerProcess } from '../../packages/server/testing/server-process.ts'
import { tempDir, type TempDir } from '../../packages/server/testing/temp.ts'
import { until } from '../../packages/server/testing/until.ts'
import { startWebhookReceiver } from '../../packages/server/testing/webhook-receiver.ts'
import { startConversation, startRequest } from '../../packages/server/testing/webhook-servers.ts'
import { chosenDatabase, storeSettings } from '../../packages/server/testing/store-choice.ts'

test('a target that names only an address gets no key of the server', async () => {
  await using dir = await tempDir()
  await using model = await startScriptedModel({})
  await using receiver = await startWebhookReceiver()
  const env = { PARLEY_WEBHOOKS: JSON.stringify([{ base_url: receiver.url }]) }
  await using server = await startServerProcess({ dataDir: dir.file('data'), env })
  await startConversation(server, startRequest(dir.file('work'), model))
  await until(() => receiver.attempts.length > 0)
  for (const { headers } of receiver.attempts) expect(headers).not.toHaveProperty('x-session-api-key')
})

/** Starts a server with one target, or with more of the environment; resolves to null when it starts. */
async function refusalOf(dir: TempDir, target: object, env: Record<string, string> = {}): Promise<string | null> {
  const webhooks = { base_url: 'http://127.0.0.1:9', ...target }
  const { config } = readConfig({
    flags: { 'data-dir': dir.file('data'), port: '0', 'allow-root': true },
    env: {
      PARLEY_SESSION_API_KEYS: `another-key,${KEY}`,
      PARLEY_LOG_LEVEL: 'silent',
      PARLEY_WEBHOOKS: JSON.stringify([webhooks]),
      ...(await storeSettings(dir.file('data'))),
      ...env,
    },
    cwd: dir.path,
    home: dir.path,
  })
  return startServer(config).then(
    async (server) => (await server[Symbol.asyncDispose](), null),
    (error: Error) => error.message,
  )
}

test('a server does not start with a target that gets one of its keys, configured or issued, in any header or in the address', async () => {
  await using dir = await tempDir()
  await using keys = await openKeys({
    dataDir: dir.file('data'),
    databaseUrl: await chosenDatabase(dir.file('data')),
    sessionApiKeys: [],
    mode: 'shared',
  })
  const make = (role: 'user' | 'webhook') => keys.createKey({ user: 'ann', role, label: null, expires_at: null })
  const [issued, other] = [await make('user'), await make('webhook')]
  const remedy =
    'contains a key of this server, and its receiver could use this server with it; remove it, or name a key of the receiver'
  for (const [target, member] of [
    [{ api_key: KEY }, 'api_key'],
    [{ api_key: issued.key }, 'api_key'],
    [{ api_key: other.key }, 'api_key'],
    [{ headers: { 'X-Session-API-Key': KEY } }, 'headers.X-Session-API-Key'],
    [{ headers: { Authorization: `Bearer ${issued.key}` } }, 'headers.Authorization'],
    [{ headers: { Cookie: `a=1; key=${issued.key}` } }, 'headers.Cookie'],
    [{ base_url: `http://127.0.0.1:9/x?key=${issued.key}` }, 'base_url'],
  ] as const)
    expect(await refusalOf(dir, target)).toContain(`webhooks[0].${member} ${remedy}`)
  const callback = { PARLEY_AUTOMATION_CALLBACK_URL: 'http://127.0.0.1:9', PARLEY_AUTOMATION_CALLBACK_API_KEY: KEY }
  expect(await refusalOf(dir, {}, callback)).toContain('automation_callback_api_key contains a key of this server')

  await keys.revokeKey(issued.row.id)
  expect(await refusalOf(dir, { api_key: issued.key })).toBeNull()
  expect(await refusalOf(dir, { api_key: 'a-key-of-the-receiver', headers: { a: 'b' } })).toBeNull()
})
