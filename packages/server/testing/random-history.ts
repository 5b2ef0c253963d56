/** Random valid histories of a conversation, from a seed. */
import {
  EMPTY_STATE,
  isTreeEvent,
  pendingActions,
  branch,
  type ConversationState,
  type Draft,
  type EventId,
  type StoredEvent,
  type StoredTreeEvent,
} from '@parley/protocol'
import { closeAction, conversationError, rejectAction, statusChanged, userMessage } from '../src/conversation/drafts.ts'
import { stamp } from '../src/conversation/log/stamp.ts'

/** A small seeded generator (mulberry32): numbers in [0, 1). */
export function random(seed: number): () => number {
  let at = seed >>> 0
  return () => {
    at = (at + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(at ^ (at >>> 15), 1 | at)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

const stamps = { now: () => new Date(0) }

export class RandomHistory {
  readonly events: StoredEvent[] = []
  readonly nodes = new Map<string, StoredTreeEvent>()
  readonly #next: () => number
  state: ConversationState = EMPTY_STATE
  #answers = 0

  constructor(seed: number) {
    this.#next = random(seed)
  }

  /** Adds `count` random batches. */
  grow(count: number): this {
    for (let at = 0; at < count; at++) this.commit(this.#batch())
    return this
  }

  commit(drafts: readonly Draft[]): void {
    const { events, state } = stamp(this.state, drafts, stamps)
    this.state = state
    this.events.push(...events)
    for (const { seq, event } of events) if (isTreeEvent(event)) this.nodes.set(event.id, { seq, event })
  }

  path(leaf: EventId | null = this.state.leaf_event_id): StoredTreeEvent[] {
    return branch(leaf, (id) => this.nodes.get(id))
  }

  #pick<T>(items: readonly T[]): T | undefined {
    return items[Math.floor(this.#next() * items.length)]
  }

  #batch(): Draft[] {
    const open = this.state.open_actions
    const dice = this.#next()
    if (open.length > 0 && dice < 0.55) return [this.#answer()]
    if (dice < 0.2) return [userMessage([{ type: 'text', text: `say ${dice}`, cache_prompt: false }])]
    if (dice < 0.5) return this.#actions()
    if (dice < 0.6) return [this.#reply()]
    if (dice < 0.7) return [statusChanged(this.#pick(['idle', 'running', 'paused', 'finished', 'error'] as const)!)]
    if (dice < 0.8) return [this.#move()]
    if (dice < 0.85) return [{ kind: 'PauseEvent', source: 'user' }]
    if (dice < 0.9) return [conversationError('Error', 'something broke')]
    return [
      { kind: 'StateChangedEvent', source: 'user', key: 'blocked_messages', value: { [`m${dice}`]: 'no' } } as Draft,
    ]
  }

  #actions(): Draft[] {
    const llm_response_id = `answer-${++this.#answers}`
    const count = 1 + Math.floor(this.#next() * 3)
    return Array.from({ length: count }, (_, index): Draft => {
      // Providers repeat call ids across turns (F46).
      const tool_call_id = `call-${index}`
      const isValid = this.#next() > 0.1
      return {
        kind: 'ActionEvent',
        source: 'agent',
        thought: [],
        reasoning_content: null,
        thinking_blocks: [],
        responses_reasoning_item: null,
        action: isValid ? { kind: 'ThinkAction', thought: 'hm' } : null,
        tool_name: 'think',
        tool_call_id,
        tool_call: { id: tool_call_id, responses_item_id: null, name: 'think', arguments: '{}', origin: 'completion' },
        llm_response_id,
        security_risk: 'UNKNOWN',
        critic_result: null,
        summary: null,
      }
    })
  }

  #answer(): Draft {
    const action = this.#pick(this.state.open_actions)!
    const dice = this.#next()
    if (dice < 0.2) return rejectAction(action, 'no')
    if (dice < 0.4)
      return closeAction(
        this.state.open_actions.find(({ tool_call_id }) => tool_call_id === action.tool_call_id)!,
        'broke',
      )
    return {
      kind: 'ObservationEvent',
      source: 'environment',
      tool_name: action.tool_name,
      tool_call_id: action.tool_call_id,
      action_id: action.id,
      observation: { kind: 'ThinkObservation', content: [], is_error: false },
      extended_content: [],
    }
  }

  #reply(): Draft {
    const { llm_message, ...rest } = userMessage([{ type: 'text', text: 'done', cache_prompt: false }]) as Extract<
      Draft,
      { kind: 'MessageEvent' }
    >
    return {
      ...rest,
      source: 'agent',
      llm_message: { ...llm_message, role: 'assistant' },
      llm_response_id: `answer-${++this.#answers}`,
    }
  }

  #move(): Draft {
    const to = this.#next() < 0.1 ? null : (this.#pick([...this.nodes.values()])?.event.id ?? null)
    const path = this.path(to)
    const user = path.findLast(({ event }) => event.kind === 'MessageEvent' && event.source === 'user')
    return {
      kind: 'LeafMovedEvent',
      source: 'user',
      to,
      open_actions: pendingActions(path),
      last_user_message_id: user?.event.id ?? null,
      owes_step: true,
    }
  }
}
