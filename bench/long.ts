import { join } from 'node:path'
import {
  EMPTY_STATE,
  newConversationId,
  type ConversationId,
  type Draft,
  type EventId,
  type StoredEvent,
} from '@parley/protocol'
import { stamp } from '../packages/server/src/conversation/log/stamp.ts'
import { statusChanged, userMessage } from '../packages/server/src/conversation/drafts.ts'
import { tempDir } from '../packages/server/testing/temp.ts'
import { agentOf, median, openStore, serve, Turns } from './harness.ts'
import { turnModel } from './model.ts'
import { ready, stored, type History } from './histories.ts'

const SIZES = [500, 50_000] as const
const ROUNDS = 15
/** Events that the model sees before the oldest half is summarised; the default of the condenser. */
const MAX_VIEW = 240

/** Ratios of a conversation with many events to one with few: opening it, a page at either end, one more turn. */
export async function long(): Promise<Record<string, number>> {
  await using dir = await tempDir()
  await using model = await turnModel()
  const figures: Record<string, number> = {}
  const results = new Map<number, Record<string, number>>()
  for (const size of SIZES) {
    const dataDir = dir.file(`data-${size}`)
    const ids = await write(dataDir, size, agentOf(model), dir.file('work'))
    results.set(size, await measure(dataDir, ids))
  }
  for (const [what, small] of Object.entries(results.get(500)!)) {
    figures[`${what}, 50000 events / 500 events`] = results.get(50_000)![what]! / small
  }
  return figures
}

/** Writes three conversations, so that the first request to each opens one that is not in memory. */
async function write(dataDir: string, size: number, agent: unknown, work: string): Promise<ConversationId[]> {
  await using storage = await openStore(join(dataDir, 'parley.db'))
  const ids: ConversationId[] = []
  const stamps = { now: () => new Date() }
  for (let round = 0; round < 3; round++) {
    const id = newConversationId()
    ids.push(id)
    const history = condensed(size, stamps)
    await storage.conversations.create(stored(id, agent, join(work, id), history))
  }
  return ids
}

/** The log of a long task: messages, and a condensation whenever the view has reached its limit. */
function condensed(size: number, stamps: { now: () => Date }): History {
  const events: StoredEvent[] = []
  let state = EMPTY_STATE
  const kept: StoredEvent[] = []
  let shown: StoredEvent[] = []
  const write = (draft: Draft): StoredEvent => {
    const made = stamp(state, [draft], stamps)
    state = made.state
    events.push(...made.events)
    return made.events[0]!
  }
  write(ready())
  while (events.length < size - 1) {
    const stored = write(
      userMessage([{ type: 'text', text: `message ${events.length} `.repeat(20), cache_prompt: false }]),
    )
    if (kept.length < 2) kept.push(stored)
    else shown.push(stored)
    if (shown.length < MAX_VIEW) continue
    const forgotten = shown
      .slice(0, MAX_VIEW / 2)
      .map(({ event }) => (event.kind === 'Condensation' ? `${event.id}-summary` : event.id))
    shown = [write(condensation(forgotten)), ...shown.slice(MAX_VIEW / 2)]
  }
  write(statusChanged('finished'))
  const items = [...kept, ...shown].map(({ seq, event }) => (event.kind === 'Condensation' ? -seq : seq))
  return { events, state, view: { seq: state.seq, items, requested: false } }
}

async function measure(dataDir: string, ids: readonly ConversationId[]): Promise<Record<string, number>> {
  const open: number[] = []
  const first: number[] = []
  const last: number[] = []
  const step: number[] = []
  await using server = await serve(dataDir)
  const timed = async (into: number[], path: string): Promise<void> => {
    const from = performance.now()
    const { status } = await server.call('GET', path)
    if (status !== 200) throw new Error(`${path} answered ${status}`)
    into.push(performance.now() - from)
  }
  for (let round = 0; round < ROUNDS; round++) {
    for (const id of ids) {
      const base = `/api/conversations/${id}`
      await timed(open, base)
      await timed(first, `${base}/events/search?limit=50`)
      await timed(last, `${base}/events/search?limit=50&sort_order=TIMESTAMP_DESC`)
    }
  }
  for (const id of ids) {
    using conversation = await Turns.open(server, id)
    // The first turn after a start reads the view back and is not measured.
    await conversation.turn()
    for (let round = 0; round < ROUNDS; round++) step.push(await conversation.turn())
  }
  return {
    opening: median(open),
    'first page': median(first),
    'last page': median(last),
    'one more turn': median(step),
  }
}

function condensation(ids: readonly string[]): Draft {
  return {
    kind: 'Condensation',
    source: 'environment',
    forgotten_event_ids: ids as EventId[],
    summary: 'Many messages came before.',
    summary_offset: 2,
    llm_response_id: 'summary-1',
  }
}
