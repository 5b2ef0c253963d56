import type { ConversationState, Draft, Event, MetricsSnapshot, StoredEvent } from '@parley/protocol'
import { apply, eventTimestamp, isTreeEvent, newEventId } from '@parley/protocol'

/** The source of time and ids. */
export type Stamps = { now: () => Date }

/**
 * Turns drafts into events. Id, time, `seq` and parent are assigned only here, so that every event in the log has them (F32).
 * A root that is not the log's first tree event is marked `__root__`. Source: agent-core.md 2.3.
 * @param attempt the events of these drafts in an earlier attempt to store them, whose ids and times they keep
 */
export function stamp(
  state: ConversationState,
  drafts: readonly Draft[],
  { now }: Stamps,
  attempt: readonly StoredEvent[] = [],
): { events: StoredEvent[]; state: ConversationState } {
  const events: StoredEvent[] = []
  let at = state
  for (const [index, draft] of drafts.entries()) {
    const earlier = attempt[index]?.event
    const common = {
      id: earlier?.id ?? draft.id ?? newEventId(),
      timestamp: earlier?.timestamp ?? eventTimestamp(now()),
    }
    const stored: StoredEvent = { seq: at.seq + 1, event: complete(at, draft, common) }
    events.push(stored)
    at = apply(at, stored)
  }
  return { events, state: at }
}

function complete(state: ConversationState, draft: Draft, common: { id: Event['id']; timestamp: string }): Event {
  if (isTreeEvent(draft)) {
    const parent_id = state.leaf_event_id ?? (state.has_tree ? '__root__' : null)
    return { ...draft, ...common, parent_id } as Event
  }
  if (draft.kind === 'UsageRecordedEvent') {
    // The total is part of the totals; it is not stored twice.
    const { replaces, ...usage } = draft
    const total = replaces ?? add(state.stats[usage.usage_id], usage)
    return { ...usage, ...common, totals: { ...state.stats, [usage.usage_id]: total } } as Event
  }
  return { ...draft, ...common } as Event
}

type Usage = Extract<Draft, { kind: 'UsageRecordedEvent' }>

/** Totals only grow; an unknown cost counts as zero. */
function add(before: MetricsSnapshot | undefined, usage: Usage): MetricsSnapshot {
  const old = before?.accumulated_token_usage
  const sum = (
    key: 'prompt_tokens' | 'completion_tokens' | 'cache_read_tokens' | 'cache_write_tokens' | 'reasoning_tokens',
  ) => (old?.[key] ?? 0) + usage.tokens[key]
  return {
    model_name: usage.model,
    accumulated_cost: (before?.accumulated_cost ?? 0) + (usage.cost ?? 0),
    max_budget_per_task: before?.max_budget_per_task ?? null,
    accumulated_token_usage: {
      model: usage.model,
      prompt_tokens: sum('prompt_tokens'),
      completion_tokens: sum('completion_tokens'),
      cache_read_tokens: sum('cache_read_tokens'),
      cache_write_tokens: sum('cache_write_tokens'),
      reasoning_tokens: sum('reasoning_tokens'),
      context_window: Math.max(old?.context_window ?? 0, usage.tokens.context_window),
      per_turn_token: usage.tokens.prompt_tokens + usage.tokens.completion_tokens,
      response_id: '',
    },
  }
}
