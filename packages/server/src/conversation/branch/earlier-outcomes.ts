/** What the log knows about the calls that are open at a point of the tree. They may have been executed on another branch. */
import type { ConversationId, EventId, OpenAction, StoredEvent } from '@parley/protocol'
import type { EventStore } from '../../storage/index.ts'

/** `unapproved`: a person was asked and never approved it, so it was not executed. `unknown`: the log does not prove anything. */
export type EarlierOutcome =
  | { kind: 'executed' | 'rejected' | 'unapproved' | 'unknown' }
  | { kind: 'failed'; error: string }

const PAGE = 500

/** Reads the log after the oldest of the calls, until each has a result. */
export async function earlierOutcomes(
  events: EventStore,
  id: ConversationId,
  open: readonly OpenAction[],
): Promise<ReadonlyMap<EventId, EarlierOutcome>> {
  const search = new OutcomeSearch(open)
  for (let from = Math.min(...open.map(({ seq }) => seq)) + 1; !search.isComplete;) {
    const page = await events.page(id, { from, limit: PAGE })
    for (const stored of page) search.read(stored)
    if (page.length < PAGE) break
    from = page.at(-1)!.seq + 1
  }
  return search.outcomes()
}

class OutcomeSearch {
  readonly #open: readonly OpenAction[]
  readonly #found = new Map<EventId, EarlierOutcome>()
  readonly #asked = new Set<EventId>()
  readonly #approved = new Set<EventId>()
  /** Calls whose call id a later call has too: an error does not say which of them it answers. */
  readonly #ambiguous = new Set<EventId>()

  constructor(open: readonly OpenAction[]) {
    this.#open = open
  }

  get isComplete(): boolean {
    return this.#found.size === this.#open.length
  }

  read({ event }: StoredEvent): void {
    switch (event.kind) {
      case 'ObservationEvent':
        return this.#settle(event.action_id, { kind: 'executed' })
      case 'UserRejectObservation':
        return this.#settle(event.action_id, { kind: 'rejected' })
      case 'AgentErrorEvent': {
        const answered = this.#open.find(({ id, tool_call_id }) => {
          return tool_call_id === event.tool_call_id && !this.#found.has(id) && !this.#ambiguous.has(id)
        })
        return this.#settle(answered?.id, { kind: 'failed', error: event.error })
      }
      case 'ActionEvent':
        for (const { id, tool_call_id } of this.#open)
          if (tool_call_id === event.tool_call_id && id !== event.id) this.#ambiguous.add(id)
        return
      case 'ConfirmationRequestedEvent':
        for (const { action_id } of event.actions) this.#asked.add(action_id)
        return
      case 'ApprovalEvent':
        if (event.decision === 'accept') for (const action of event.action_ids) this.#approved.add(action)
        return
      default:
    }
  }

  outcomes(): ReadonlyMap<EventId, EarlierOutcome> {
    const isRefused = (id: EventId) => this.#asked.has(id) && !this.#approved.has(id)
    const unsettled = (id: EventId): EarlierOutcome => ({ kind: isRefused(id) ? 'unapproved' : 'unknown' })
    return new Map(this.#open.map(({ id }) => [id, this.#found.get(id) ?? unsettled(id)]))
  }

  #settle(id: EventId | undefined, outcome: EarlierOutcome): void {
    const isMeant = this.#open.some((open) => open.id === id)
    if (id !== undefined && isMeant && !this.#found.has(id)) this.#found.set(id, outcome)
  }
}

/** The text that answers such a call for the model. `where`: the place of an earlier result. */
export function outcomeText(outcome: EarlierOutcome, where: string): string {
  switch (outcome.kind) {
    case 'executed':
      return `This call was executed ${where}, and its effects remain. Its result is not part of this branch.`
    case 'rejected':
      return `This call was rejected ${where}; it was not executed.`
    case 'failed':
      return `This call was answered ${where} with this error: ${outcome.error}`
    case 'unapproved':
      return 'This call waited for an approval when the conversation moved to this point; it was not executed.'
    default:
      return (
        'This call was open when the conversation moved to this point. Whether it was executed, wholly or in part, is not known. ' +
        'Look at the state of things before you repeat it.'
      )
  }
}
