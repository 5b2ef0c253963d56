/**
 * Random bodies for the five endpoints: every one is answered, none with 5xx, and refused ones leave nothing in the store.
 * The seed is fixed; a body that fails is printed in full.
 */
import { DatabaseSync } from 'node:sqlite'
import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { tempDir, type TempDir } from '../../packages/server/testing/temp.ts'
import { byForm, form, timeoutFor } from '../../packages/server/testing/campaign.ts'
import { recordFacts } from '../facts.ts'
import { bodyOf, type Sent } from './fuzz/bodies.ts'
import { type Chance, chanceOf } from './fuzz/chance.ts'
import { flood, type Hit, type Shot } from './fuzz/flood.ts'
import { serve, type Serving } from '../../packages/server/testing/multi-user-server.ts'

const SEED = 20_261_121
/** Seconds of bodies for each endpoint, and the least number of bodies. */
const BUDGET = { seconds: byForm({ test: 2, campaign: 30, soak: 600 }), least: 2000 }
const TIMEOUT_MS = timeoutFor(BUDGET.seconds)

let dir: TempDir
let serving: Serving
beforeAll(async () => {
  dir = await tempDir()
  const nowhere = 'http://127.0.0.1:9'
  serving = await serve(dir.file('data'), {
    PARLEY_RATE_LIMIT_PER_MINUTE: '0',
    PARLEY_LOG_LEVEL: 'error',
    // No body causes a request to an external host.
    PARLEY_GIT_HOSTS: JSON.stringify({ github: nowhere, gitlab: nowhere, bitbucket: nowhere }),
  })
})
afterAll(async () => {
  await serving[Symbol.asyncDispose]()
  await dir[Symbol.asyncDispose]()
})

const uuid = (n: number) => `0f0e0d0c-0b0a-4908-8706-${n.toString(16).padStart(12, '0')}`
const MCP = {
  sse_servers: [{ url: 'http://127.0.0.1:9', api_key: 'k' }],
  stdio_servers: [{ name: 'a', command: 'true', args: ['x'], env: { A: 'b' } }],
  shttp_servers: ['http://127.0.0.1:9'],
}
const TASK = { repo: 'acme/shop', issue_number: 7, title: 'A title', task_type: 'OPEN_ISSUE', git_provider: 'github' }
const REPLAY = [
  { action: 'message', source: 'user', args: { content: 'x', image_urls: null } },
  { action: 'think', source: 'agent', args: { thought: 'y' } },
  { action: 'finish', source: 'agent', args: { final_thought: 'z', outputs: {} } },
]
const AGENT = { kind: 'Agent', llm: { model: 'some/model', temperature: 0.5 }, tools: [{ name: 'TerminalTool' }] }

const settings = {
  language: 'de',
  max_iterations: 5,
  confirmation_mode: true,
  llm_model: 'm',
  llm_api_key: 'k',
  secrets_store: { provider_tokens: { github: { token: 't' } }, custom_secrets: { A: { secret: 's' } } },
  enable_default_condenser: false,
  mcp_config: MCP,
  max_budget_per_task: 1.5,
  email: 'a@b.example',
}
const info = (n: number) => ({
  id: uuid(n),
  workspace: { kind: 'LocalWorkspace', working_dir: '/srv/work' },
  agent: n % 3 === 0 ? { kind: 'ACPAgent', acp_command: ['x'] } : AGENT,
  execution_status: 'running',
  confirmation_policy: { kind: 'ConfirmRisky', threshold: 'LOW', confirm_unknown: false },
  security_analyzer: {
    kind: 'EnsembleSecurityAnalyzer',
    analyzers: [{ kind: 'PatternSecurityAnalyzer', high_patterns: [['a', 'b', 'c']] }],
  },
  stats: { usage_to_metrics: { agent: { accumulated_cost: 1, costs: [{ model: 'm', cost: 1 }] } } },
  secret_registry: { secret_sources: { A: { kind: 'StaticSecret', value: 's' } } },
  hook_config: { stop: [{ matcher: '*', hooks: [{ command: 'true' }] }] },
  created_at: '2026-02-03T10:00:00Z',
  updated_at: 1_770_000_000,
  tags: { a: 'b' },
  client_tools: [{ name: 'a', description: 'b', parameters: { type: 'object' } }],
})
/** New Conversation in the conversation service API. Most bodies are refused, because many members exclude each other. */
const conversation = (chance: Chance) => ({
  repository: 'acme/shop',
  git_provider: 'svn',
  selected_branch: 'a..b',
  image_urls: ['x', 7],
  suggested_task: TASK,
  conversation_instructions: 'x',
  mcp_config: MCP,
  conversation_id: uuid(chance.under(300)),
  ...(chance.is(0.3) && { git_provider: 'github', selected_branch: null, image_urls: null }),
  ...(chance.is(0.3) && { replay_json: JSON.stringify(REPLAY) }),
  ...(chance.is(0.3) && { create_microagent: { repo: 'a/b', title: 't' }, suggested_task: null }),
})
const started = {
  workspace: {},
  agent: AGENT,
  max_iterations: 5,
  tags: { a: 'b' },
  secrets: { A: 'b' },
  user_id: 'u',
  observability_metadata: { a: 'b', c: [true], d: 1.5 },
  observability_tags: ['t'],
  observability_span_name: 's',
}

/** A body of the agent-server API names a directory, which the server creates; it is removed from the body. */
function harmless(sent: Sent): Sent {
  let value: unknown
  try {
    value = JSON.parse(sent.body.toString())
  } catch {
    return sent
  }
  const workspace = (value as { workspace?: { working_dir?: unknown } } | null)?.workspace
  if (typeof workspace?.working_dir !== 'string') return sent
  const place = { ...workspace, working_dir: dir.file('work') }
  return { ...sent, body: Buffer.from(JSON.stringify({ ...(value as object), workspace: place })) }
}

/** What became of the server, for the report of a request without an answer. */
async function stateOfServer(): Promise<string> {
  const { process, exited, stderr } = serving.server
  const isAlive = await Promise.race([exited.then(() => false), setTimeout(2000, true)])
  const state = isAlive ? 'the server is alive' : `the server ended with ${process.signalCode ?? process.exitCode}`
  return `${state}; its log ends with: ${stderr().slice(-4000)}`
}

type Tally = Map<string, number>

/** Floods one endpoint and returns the number of answers by status. Fails with the bodies that were answered with 5xx. */
async function under(
  name: string,
  make: (chance: Chance, n: number) => Shot,
  seen: (hit: Hit, shot: Shot) => void = () => {},
): Promise<Tally> {
  const chance = chanceOf(SEED)
  const tally: Tally = new Map()
  const failed: unknown[] = []
  const { sent, longestSilenceMs } = await flood(
    serving.server.url,
    BUDGET,
    (n) => make(chance, n),
    (hit, shot) => {
      tally.set(String(hit.status), (tally.get(String(hit.status)) ?? 0) + 1)
      if (hit.status >= 500)
        failed.push([shot.method, shot.path, shot.headers, shot.body.toString().slice(0, 2000), hit.text])
      seen(hit, shot)
    },
  ).catch(async (error: unknown) => {
    throw new Error(`${(error as Error).message}; ${await stateOfServer()}`, { cause: error })
  })
  expect(failed.slice(0, 5)).toEqual([])
  if (form !== 'test') recordFacts(`fuzz_${name}`, { sent, longest_silence_ms: longestSilenceMs })
  // Bodies that are all refused alike, or all accepted, would prove little.
  expect(tally.get('422')).toBeGreaterThan(sent / 4)
  expect([...tally.keys()].filter((status) => !/^(?:200|201|400|404|409|422)$/.test(status))).toEqual([])
  expect((await serving.call('GET', '/health')).status).toBe(200)
  return tally
}

/** Stored rows, read from the store itself. */
function rows(sql: string): number {
  const store = new DatabaseSync(dir.file('data', 'parley.db'), { readOnly: true })
  try {
    return Number(Object.values(store.prepare(sql).get() ?? {})[0])
  } finally {
    store.close()
  }
}

test(
  'Create Custom Secret stores exactly what it says it has created',
  async () => {
    const tally = await under('create_secret', (chance) => {
      const good = { name: `NAME_${chance.under(500)}`, value: 'a value', description: 'what it is for' }
      return { method: 'POST', path: '/api/secrets', ...bodyOf(chance, good) }
    })
    expect(tally.get('201')).toBeGreaterThan(10)
    expect(rows('SELECT count(*) FROM secrets')).toBe(tally.get('201'))
  },
  TIMEOUT_MS,
)

test(
  'Update Custom Secret makes none, and loses none',
  async () => {
    const before = rows('SELECT count(*) FROM secrets')
    const paths = ['%00', '%', '..%2f', 'A'.repeat(600), encodeURIComponent('\u{1f600}'), '__proto__', '%ff']
    const tally = await under('update_secret', (chance) => {
      const name = chance.is(0.8) ? `NAME_${chance.under(500)}` : chance.pick(paths)
      return {
        method: 'PUT',
        path: `/api/secrets/${name}`,
        ...bodyOf(chance, { name: `NAME_${chance.under(500)}`, description: 'd' }),
      }
    })
    expect(tally.get('200')).toBeGreaterThan(10)
    expect(rows('SELECT count(*) FROM secrets')).toBe(before)
  },
  TIMEOUT_MS,
)

test(
  'Store Settings stays readable, whatever was stored',
  async () => {
    await serving.call('POST', '/api/settings', settings)
    const tally = await under('store_settings', (chance) => ({
      method: 'POST',
      path: '/api/settings',
      ...bodyOf(chance, settings),
    }))
    expect(tally.get('200')).toBeGreaterThan(10)
    expect(rows('SELECT count(*) FROM settings')).toBe(1)
    expect((await serving.call('GET', '/api/settings')).status).toBe(200)
    expect((await serving.call('GET', '/api/secrets')).status).toBe(200)
  },
  TIMEOUT_MS,
)

test(
  'the webhook receiver keeps exactly the conversations that it took',
  async () => {
    const taken = new Set<string>()
    const tally = await under(
      'webhook_receiver',
      (chance) => ({
        method: 'POST',
        path: '/api/v1/webhooks/conversations',
        ...bodyOf(chance, info(chance.under(2000))),
      }),
      ({ status }, { body }) => {
        if (status === 200) taken.add(String(JSON.parse(body.toString()).id).toLowerCase())
      },
    )
    expect(tally.get('200')).toBeGreaterThan(10)
    expect(rows('SELECT count(*) FROM received_conversations')).toBe(taken.size)
    expect((await serving.call('GET', '/api/conversations/search?limit=100')).status).toBe(200)
  },
  TIMEOUT_MS,
)

test(
  'New Conversation, in both dialects, makes exactly the conversations that it says',
  async () => {
    const made = new Set<string>()
    await under(
      'new_conversation',
      (chance) => {
        const good = chance.is(0.7)
          ? conversation(chance)
          : chance.is(0.2)
            ? { ...started, workspace: { working_dir: 'w' } }
            : started
        return { method: 'POST', path: '/api/conversations', ...harmless(bodyOf(chance, good)) }
      },
      ({ status, text }) => {
        if (status > 201) return
        const { conversation_id, id } = JSON.parse(text)
        made.add(conversation_id ?? id)
      },
    )
    expect(made.size).toBeGreaterThan(5)
    expect(rows('SELECT count(*) FROM conversations')).toBe(made.size)
    expect(rows('SELECT count(*) FROM records')).toBe(made.size)
    expect(
      rows(
        'SELECT count(*) FROM events e WHERE conversation > 0 AND NOT EXISTS (SELECT 1 FROM conversations c WHERE c.n = e.conversation)',
      ),
    ).toBe(0)
  },
  TIMEOUT_MS,
)
