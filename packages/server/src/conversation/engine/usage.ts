/** What the calls of models of a conversation have used. Reads the usage records of its log, which an index finds, in pages. */
import {
  MetricsSnapshot,
  type ConversationId,
  type ConversationUsage,
  type ModelUsage,
  type StoredEvent,
  type TokenCounts,
  type UsageCall,
  type UsageRecordedEvent,
} from '@parley/protocol'
import { TimeSlices } from '../../lib/index.ts'
import type { EventStore } from '../../storage/index.ts'
import type { Actor } from '../conversations.ts'
import type { ConversationAccess } from './access.ts'

const FILTER = { kinds: ['UsageRecordedEvent'] }
/** Records that are in memory at once for the sums. */
const PAGE = 500

const TOKENS = [
  'prompt_tokens',
  'completion_tokens',
  'cache_read_tokens',
  'cache_write_tokens',
  'reasoning_tokens',
] as const

export class UsageReads {
  readonly #access: ConversationAccess

  constructor(access: ConversationAccess) {
    this.#access = access
  }

  /** Another server reports totals alone. @throws ParleyError `not_found` */
  async of(
    id: ConversationId,
    { before, limit }: { before?: number; limit: number },
    actor: Actor,
  ): Promise<ConversationUsage> {
    const log = await this.#access.log(id, actor)
    const from = before === undefined ? {} : { from: before - 1 }
    const isEmpty = before === 1
    const found = isEmpty ? [] : await log.page(id, { order: 'desc', limit: limit + 1, filter: FILTER, ...from })
    const shown = found.slice(0, limit)
    return {
      totals: await this.#totals(id, actor),
      models: before === undefined ? await sumsByModel(log, id) : null,
      calls: shown.flatMap(({ seq, event }) => (isUsage(event) ? [callOf(seq, event)] : [])),
      next_before_seq: found.length > limit ? shown.at(-1)!.seq : null,
    }
  }

  async #totals(id: ConversationId, actor: Actor): Promise<ConversationUsage['totals']> {
    const row = await this.#access.find(id, actor)
    if (row.origin === 'own') return (await this.#access.readRow(row)).state.stats
    const { usage_to_metrics } = this.#access.receivedInfo(row).stats
    const totals = Object.entries(usage_to_metrics).map(([usageId, metrics]) => [
      usageId,
      MetricsSnapshot.parse(metrics),
    ])
    return Object.fromEntries(totals) as ConversationUsage['totals']
  }
}

async function sumsByModel(log: EventStore, id: ConversationId): Promise<ModelUsage[]> {
  const sums = new Map<string, ModelUsage>()
  const slices = new TimeSlices()
  for (let from = 1; ;) {
    const page = await log.page(id, { from, limit: PAGE, filter: FILTER })
    for (const { event } of page) {
      await slices.next()
      if (!isUsage(event)) continue
      const { model, tokens, cost } = event
      const sum = sums.get(model) ?? { model, calls: 0, tokens: countsOf({}), cost: 0, unpriced_calls: 0 }
      sum.calls += 1
      for (const count of TOKENS) sum.tokens[count] += tokens[count]
      sum.cost += cost ?? 0
      if (cost === null) sum.unpriced_calls += 1
      sums.set(model, sum)
    }
    if (page.length < PAGE) break
    from = page.at(-1)!.seq + 1
  }
  return [...sums.values()].toSorted((a, b) => b.cost - a.cost || (a.model < b.model ? -1 : 1))
}

const isUsage = (event: StoredEvent['event']): event is UsageRecordedEvent => event.kind === 'UsageRecordedEvent'

function callOf(seq: number, event: UsageRecordedEvent): UsageCall {
  const { timestamp: at, usage_id, model, tokens, cost, latency, response_id } = event
  // Sums of a sub-agent, and of the source of a fork, have no response.
  const isCall = response_id !== ''
  return { seq, at, usage_id, model, tokens: countsOf(tokens), cost, latency: isCall ? latency : null }
}

const countsOf = (tokens: Partial<TokenCounts>): TokenCounts =>
  Object.fromEntries(TOKENS.map((count) => [count, tokens[count] ?? 0])) as TokenCounts
