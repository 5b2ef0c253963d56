/**
 * No request to an address that a user named contains a credential of the configuration, however models, keys and addresses are
 * combined: in all model APIs, settings, profiles, fallbacks, titles, goals, critics, condensers, hooks, analyzers, MCP servers, remote
 * workspaces and the gateway.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openKeys, type Keys } from '../../packages/server/src/index.ts'
import { byForm, forSeeds, timeoutFor } from '../../packages/server/testing/campaign.ts'
import { canary } from '../../packages/server/testing/canaries/values.ts'
import { startRecordingOrigin, type RecordingOrigin } from '../../packages/server/testing/recording-origin.ts'
import type { ModelRequest } from '../../packages/server/testing/scripted-model.ts'
import { KEY, startTestServer, type TestServer } from '../../packages/server/testing/server.ts'
import { startWebhookReceiver, type WebhookReceiver } from '../../packages/server/testing/webhook-receiver.ts'
import { OPERATORS_KEY, OPERATORS_MODEL, planOf } from './credentials/plans.ts'
import { CRITIC, play } from './credentials/play.ts'
import { chosenDatabase } from '../../packages/server/testing/store-choice.ts'

const BUDGET = byForm({
  test: { seconds: 5, least: 24 },
  campaign: { seconds: 60, least: 150 },
  soak: { seconds: 600, least: 1500 },
})
const CREDENTIALS = {
  model: OPERATORS_KEY,
  vendor: canary('vendor_key'),
  callback: canary('remote_key'),
  webhook: canary('webhook_header'),
  signature: canary('webhook_secret'),
  sealing: canary('server_secret_key'),
  session: KEY,
}

/** The address of all users, below which each plan has a path of its own, and the address of the operator. */
let users: RecordingOrigin
let operators: RecordingOrigin
let receiver: WebhookReceiver
let server: TestServer
let keys: Keys

const respond = ({ view }: ModelRequest) =>
  view.tools.length > 0
    ? { toolCalls: [{ name: 'finish', arguments: { message: 'done' } }] }
    : { text: '{"ok": true, "score": 1, "complete": true, "missing": ""}' }

beforeAll(async () => {
  users = await startRecordingOrigin({ respond })
  operators = await startRecordingOrigin({ respond })
  receiver = await startWebhookReceiver({ secret: CREDENTIALS.signature })
  CRITIC.url = users.url
  server = await startTestServer({
    PARLEY_MODE: 'shared',
    PARLEY_LLM_MODEL: OPERATORS_MODEL,
    PARLEY_LLM_API_KEY: CREDENTIALS.model,
    PARLEY_LLM_BASE_URL: `${operators.url}/v1`,
    PARLEY_VENDOR_API_KEY: CREDENTIALS.vendor,
    PARLEY_VENDOR_API_URL: `${operators.url}/vendor`,
    PARLEY_AUTOMATION_CALLBACK_URL: `${operators.url}/callback`,
    PARLEY_AUTOMATION_CALLBACK_API_KEY: CREDENTIALS.callback,
    PARLEY_SECRET_KEY: CREDENTIALS.sealing,
    PARLEY_START_DEADLINES: '{"workspace":2}',
    PARLEY_WEBHOOKS: JSON.stringify([
      {
        base_url: receiver.url,
        secret: CREDENTIALS.signature,
        headers: { 'X-Key': CREDENTIALS.webhook },
        flush_delay: 0.1,
      },
    ]),
  })
  keys = await openKeys({
    dataDir: server.dir.file('data'),
    databaseUrl: await chosenDatabase(server.dir.file('data')),
    sessionApiKeys: [],
    mode: 'shared',
  })
})
afterAll(async () => {
  await keys[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
  for (const each of [users, operators, receiver]) await each[Symbol.asyncDispose]()
})

/** The credentials in requests to the address of a user, and in requests to the operator under the host name of a user. */
function leaks(): string[] {
  const foreign = new URL(users.url).host
  return Object.entries(CREDENTIALS).flatMap(([name, credential]) => {
    const misled = operators.containing(credential).filter(({ headers }) => headers.includes(foreign))
    const found = [...users.containing(credential), ...misled]
    return found.map(({ method, url, headers }) => `${name}: ${method} ${url} ${headers.join(' ')}`)
  })
}

test(
  'no request to an address that a user named contains a credential of the operator',
  async () => {
    let refused = 0
    const played = await forSeeds({ ...BUDGET, atOnce: 4 }, async (seed) => {
      const plan = planOf(seed)
      const made = await keys.createKey({ user: `user-${seed}`, role: 'user', label: null, expires_at: null })
      const call = (method: string, path: string, body?: unknown) =>
        server.call(method, path, body, { 'X-Session-API-Key': made.key })
      const at = { users: `${users.url}/plan-${seed}`, operators: `${operators.url}/v1` }
      const before = users.requests.length
      await play({ call, plan, at, workingDir: server.dir.file(`work-${seed}`) })
      if (users.requests.length === before) refused += 1
      expect([JSON.stringify(plan), leaks()]).toEqual([expect.any(String), []])
    })
    console.log(
      `${played} plans, ${users.requests.length} requests to users, ${operators.requests.length} to the operator`,
    )
    // The plans must reach what is checked: addresses of users, and the operator's with the key.
    expect(users.requests.length).toBeGreaterThan(played / 3)
    expect(refused).toBeLessThan(played)
    expect(operators.containing(CREDENTIALS.model).length).toBeGreaterThan(0)
    expect(receiver.accepted.length).toBeGreaterThan(0)
  },
  timeoutFor(BUDGET.seconds),
)
