import { join } from 'node:path'
import { EMPTY_STATE, newConversationId, TokenUsage, type Draft, type StoredEvent } from '@parley/protocol'
import { stamp } from '../packages/server/src/conversation/log/stamp.ts'
import { statusChanged, userMessage } from '../packages/server/src/conversation/drafts.ts'
import { TEST_KEY, type ServerProcess } from '../packages/server/testing/server-process.ts'
import { tempDir } from '../packages/server/testing/temp.ts'
import { agentOf, median, openStore, serve } from './harness.ts'
import { turnModel } from './model.ts'
import { ready, stored, type History } from './histories.ts'

const CONVERSATIONS = 100
const EVENTS = 10_000
const ROUNDS = 15
const PAGE = `/api/conversations/search?limit=${CONVERSATIONS}`

/** A page of long conversations, and how long it holds up another request. */
export async function lists(): Promise<Record<string, number>> {
  await using dir = await tempDir()
  await using model = await turnModel()
  const dataDir = dir.file('data')
  await write(dataDir, agentOf(model), dir.file('work'))
  await using server = await serve(dataDir)
  const { body } = await server.call('GET', PAGE)
  if (body.items.length !== CONVERSATIONS) throw new Error(`a page had ${body.items.length} items`)
  const pages: number[] = []
  const stalls: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const { pageMs, stallMs } = await page(server)
    pages.push(pageMs)
    stalls.push(stallMs)
  }
  return {
    'page of 100 conversations of 10000 events (ms)': median(pages),
    'longest answer of /alive during such pages (ms)': Math.max(...stalls),
  }
}

/** One page, while the liveness of the server is asked for again and again. */
async function page(server: ServerProcess): Promise<{ pageMs: number; stallMs: number }> {
  const from = performance.now()
  let pageMs: number | null = null
  // The answer is not parsed, because that would hold up the requests of this process.
  const asked = fetch(server.url + PAGE, { headers: { 'X-Session-API-Key': TEST_KEY } }).then(async (response) => {
    if (response.status !== 200) throw new Error(`a page answered ${response.status}`)
    await response.arrayBuffer()
    pageMs = performance.now() - from
  })
  let stallMs = 0
  do {
    const sent = performance.now()
    await server.call('GET', '/alive')
    stallMs = Math.max(stallMs, performance.now() - sent)
  } while (pageMs === null)
  await asked
  return { pageMs, stallMs }
}

/** All conversations have the same log: their events differ in nothing that a list reads. */
async function write(dataDir: string, agent: unknown, work: string): Promise<void> {
  const history = worked()
  await using storage = await openStore(join(dataDir, 'parley.db'))
  for (let at = 0; at < CONVERSATIONS; at++) {
    const id = newConversationId()
    await storage.conversations.create(stored(id, agent, join(work, id), history))
  }
}

/** Messages, each followed by the usage of a model call. */
function worked(): History {
  const events: StoredEvent[] = []
  let state = EMPTY_STATE
  const add = (draft: Draft): void => {
    const made = stamp(state, [draft], { now: () => new Date() })
    state = made.state
    events.push(...made.events)
  }
  add(ready())
  while (events.length < EVENTS - 1) {
    add(userMessage([{ type: 'text', text: `message ${events.length} `.repeat(20), cache_prompt: false }]))
    add(used(events.length))
  }
  add(statusChanged('finished'))
  return { events, state, view: null }
}

function used(at: number): Draft {
  return {
    kind: 'UsageRecordedEvent',
    source: 'environment',
    usage_id: 'default',
    model: 'openai/scripted',
    response_id: `response-${at}`,
    cost: 0.001,
    latency: 1,
    tokens: TokenUsage.parse({ model: 'openai/scripted', prompt_tokens: 1000, completion_tokens: 100 }),
  }
}
