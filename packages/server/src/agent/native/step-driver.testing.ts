/** For tests: drives the steps of an agent in place of a conversation, and records the commits. */
import {
  apply,
  asConversationId,
  asEventId,
  EMPTY_STATE,
  isTreeEvent,
  type ActionEvent,
  type ConversationState,
  type Draft,
  type Event,
  type EventId,
  type StoredEvent,
} from '@parley/protocol'
import type { LlmDelta } from '../../llm/index.ts'
import type { Step, StepContext } from '../agent.ts'
import type { PruneLimits } from '../view/pruning.ts'
import { View } from '../view/view.ts'

export const never = new AbortController().signal
export const CONVERSATION = asConversationId('00000000-0000-4000-8000-000000000000')

export class StepDriver {
  state: ConversationState
  readonly log: Event[] = []
  /** Kinds of each commit. */
  readonly commits: string[][] = []
  readonly deltas: LlmDelta[] = []
  readonly #view: View

  constructor(state: Partial<ConversationState> = {}, limits?: PruneLimits) {
    this.#view = new View(limits)
    this.state = { ...EMPTY_STATE, execution_status: 'running', ...state }
  }

  context: StepContext = {
    conversationId: CONVERSATION,
    state: () => this.state,
    view: () => this.#view.events(),
    isOriginal: () => true,
    isCondensationRequested: () => this.#view.isCondensationRequested,
    emit: (delta) => this.deltas.push(delta),
  }

  commit(drafts: readonly Draft[]): StoredEvent[] {
    this.commits.push(drafts.map(({ kind }) => kind))
    return drafts.map((draft) => {
      const seq = this.state.seq + 1
      const id = 'id' in draft ? (draft.id as EventId) : asEventId(`e${seq}`)
      const place = isTreeEvent(draft) ? { parent_id: this.state.leaf_event_id } : {}
      const totals = draft.kind === 'UsageRecordedEvent' ? { totals: {} } : {}
      const event = { ...draft, ...totals, id, timestamp: '2026-01-01T00:00:00.000000', ...place } as Event
      this.log.push(event)
      this.state = apply(this.state, { seq, event })
      if (isTreeEvent(event)) this.#view.append(event)
      return { seq, event }
    })
  }

  async drive(step: Step): Promise<void> {
    let stored: StoredEvent[] = []
    for (;;) {
      const { done, value } = await step.next(stored)
      if (done === true) return
      stored = this.commit(value)
    }
  }

  of<K extends Event['kind']>(kind: K): Extract<Event, { kind: K }>[] {
    return this.log.filter((event): event is Extract<Event, { kind: K }> => event.kind === kind)
  }

  /** The open actions, as a run passes them to the agent. */
  open(): ActionEvent[] {
    return this.state.open_actions.map(({ id }) => this.of('ActionEvent').find((event) => event.id === id)!)
  }
}

/** The texts of results of calls. */
export function texts(events: readonly Event[]): string[] {
  return events.flatMap((event) => {
    if (event.kind === 'ObservationEvent')
      return event.observation.content.map((item) => (item.type === 'text' ? item.text : 'image'))
    if (event.kind === 'AgentErrorEvent') return [event.error]
    if (event.kind === 'UserRejectObservation') return [event.rejection_reason]
    return []
  })
}
