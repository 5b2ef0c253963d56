/**
 * The view of a branch: the events that the model sees, condensed, and always valid as a request. Source: agent-core.md 2.5.
 *
 * Invariants
 *   V1. A result enters only while its call is open; a second result of the same call never does (F46).
 *   V2. The cost of appending does not grow with the view, except for a condensation.
 *   V3. A view built by appending events equals one rebuilt from the same branch, if every append was valid.
 */
import type { ActionEvent, Condensation, CondensationSummaryEvent, EventId, TreeEvent } from '@parley/protocol'
import { asEventId } from '@parley/protocol'
import { enforceProperties } from './view-properties.ts'
import { isConvertible, OpenCalls } from './pairing.ts'

export class View {
  #events: TreeEvent[] = []
  #open = new OpenCalls()
  #isCondensationRequested = false
  /** Condensations by the id of their summary. */
  readonly #condensations = new Map<EventId, Condensation>()

  /**
   * Builds the view of a whole branch, root first, and enforces every property. Needed after a load, a fork or a move of the
   * leaf.
   */
  static rebuild(branch: Iterable<TreeEvent>): View {
    const whole = [...branch]
    const view = new View()
    for (const event of whole) view.append(event)
    const open = view.#openOfLastResponse()
    const kept = enforceProperties(view.#events, whole, open)
    if (kept.length === view.#events.length) return view
    const sources = kept.map((event) => view.#condensations.get(event.id) ?? event)
    return View.restore(sources, view.#isCondensationRequested)
  }

  /** Restores the view that returned these `sources`; a Condensation among them stands for its summary. */
  static restore(sources: readonly TreeEvent[], isCondensationRequested: boolean): View {
    const view = new View()
    for (const event of sources) view.append(event.kind === 'Condensation' ? view.#summaryOf(event) : event)
    view.#isCondensationRequested = isCondensationRequested
    return view
  }

  /** Appends the next event of the branch. Kinds that the model never sees change nothing. */
  append(event: TreeEvent): void {
    if (event.kind === 'Condensation') return this.#condense(event)
    if (event.kind === 'CondensationRequest') {
      this.#isCondensationRequested = true
      return
    }
    if (!isConvertible(event) || !this.#open.take(event)) return
    this.#events.push(event)
  }

  /** Root first. A condensation replaces the list; all other events grow it in place. */
  events(): readonly TreeEvent[] {
    return this.#events
  }

  /** The stored events of the view, with the Condensation in the place of each summary. */
  sources(): readonly TreeEvent[] {
    return this.#events.map((event) => this.#condensations.get(event.id) ?? event)
  }

  /** Returns whether a condensation was requested and is not in the branch yet. */
  get isCondensationRequested(): boolean {
    return this.#isCondensationRequested
  }

  #condense(condensation: Condensation): void {
    const forgotten = new Set<EventId>(condensation.forgotten_event_ids)
    this.#events = this.#events.filter((event) => !forgotten.has(event.id))
    for (const id of forgotten) this.#condensations.delete(id)
    const { summary, summary_offset } = condensation
    // The offset counts in the list after the removal.
    if (summary !== null && summary_offset !== null)
      this.#events.splice(summary_offset, 0, this.#summaryOf(condensation))
    this.#isCondensationRequested = false
    this.#open.forget(forgotten)
  }

  #summaryOf(condensation: Condensation): CondensationSummaryEvent {
    const { id, timestamp, summary } = condensation
    const event: CondensationSummaryEvent = {
      kind: 'CondensationSummaryEvent',
      id: asEventId(`${id}-summary`),
      timestamp,
      parent_id: null,
      source: 'environment',
      summary: summary ?? '',
    }
    this.#condensations.set(event.id, condensation)
    return event
  }

  /** Calls without a result that may still get one: only those of the newest batch. */
  #openOfLastResponse(): ReadonlySet<EventId> {
    const newest = this.#events.findLast((event): event is ActionEvent => event.kind === 'ActionEvent')
    const open = this.#open.all().filter(({ llm_response_id }) => llm_response_id === newest?.llm_response_id)
    return new Set(open.map(({ id }) => id))
  }
}
