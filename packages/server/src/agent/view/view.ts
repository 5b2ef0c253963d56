/**
 * The view of a branch: the events that the model sees, condensed, and always valid as a request. Source: agent-core.md 2.5.
 *
 * Invariants
 *   V1. A result enters only while its call is open; a second result of the same call never does (F46).
 *   V2. The cost of appending does not grow with the view, except for a condensation and when results are left out.
 *   V3. A view built by appending events equals one rebuilt from the same branch, if every append was valid.
 */
import type { ActionEvent, Condensation, CondensationSummaryEvent, EventId, TreeEvent } from '@parley/protocol'
import { asEventId } from '@parley/protocol'
import { enforceProperties } from './view-properties.ts'
import { isConvertible, OpenCalls } from './pairing.ts'
import { OldImages, withoutOldImages } from './old-images.ts'
import { isPrunable, KEEP_ALL, Pruning, withoutContent, type PruneLimits } from './pruning.ts'

export class View {
  readonly #limits: PruneLimits
  #events: TreeEvent[] = []
  #open = new OpenCalls()
  #isCondensationRequested = false
  /** Condensations by the id of their summary. */
  readonly #condensations = new Map<EventId, Condensation>()
  #pruning: Pruning
  #oldImages = new OldImages()
  /** Results without their content, and other events without their images. */
  #pruned = new Set<EventId>()

  /** @param limits when the content of old results is left out; absent: never */
  constructor(limits = KEEP_ALL) {
    this.#limits = limits
    this.#pruning = new Pruning(limits)
  }

  /**
   * Builds the view of a whole branch, root first, and enforces every property. Needed after a load, a fork or a move of the
   * leaf.
   */
  static rebuild(branch: Iterable<TreeEvent>, limits = KEEP_ALL): View {
    const whole = [...branch]
    const view = new View(limits)
    for (const event of whole) view.append(event)
    const open = view.#openOfLastResponse()
    const kept = enforceProperties(view.#events, whole, open)
    if (kept.length === view.#events.length) return view
    const sources = kept.map((event) => view.#condensations.get(event.id) ?? event)
    return View.restore(sources, view, limits)
  }

  /**
   * Restores the view that returned these `sources`; a Condensation among them stands for its summary.
   * @param from `pruned`: the results that it shows without their content, and the other events without their images
   */
  static restore(
    sources: readonly TreeEvent[],
    from: { isCondensationRequested: boolean; pruned: ReadonlySet<EventId> },
    limits = KEEP_ALL,
  ): View {
    const view = new View(limits)
    view.#pruned = new Set(from.pruned)
    for (const event of sources) view.append(event.kind === 'Condensation' ? view.#summaryOf(event) : event)
    view.#isCondensationRequested = from.isCondensationRequested
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
    this.#events.push(this.#shown(event))
    this.#leaveOut(this.#decide(this.#events.at(-1)!))
  }

  /** Root first. A condensation, and leaving out results, replace the list; all other events grow it in place. */
  events(): readonly TreeEvent[] {
    return this.#events
  }

  /** The stored events of the view, with the Condensation in the place of each summary. */
  sources(): readonly TreeEvent[] {
    return this.#events.map((event) => this.#condensations.get(event.id) ?? event)
  }

  /** The results of the view without their content, and its other events without their images. */
  get pruned(): ReadonlySet<EventId> {
    return this.#pruned
  }

  /** Returns whether a condensation was requested and is not in the branch yet. */
  get isCondensationRequested(): boolean {
    return this.#isCondensationRequested
  }

  #condense(condensation: Condensation): void {
    const forgotten = new Set<EventId>(condensation.forgotten_event_ids)
    this.#events = this.#events.filter((event) => !forgotten.has(event.id))
    for (const id of forgotten) {
      this.#condensations.delete(id)
      this.#pruned.delete(id)
    }
    const { summary, summary_offset } = condensation
    // The offset counts in the list after the removal.
    if (summary !== null && summary_offset !== null)
      this.#events.splice(summary_offset, 0, this.#summaryOf(condensation))
    this.#isCondensationRequested = false
    this.#open.forget(forgotten)
    // As after a restart, which knows nothing of the forgotten events.
    this.#pruning = new Pruning(this.#limits)
    this.#oldImages = new OldImages()
    for (const event of this.#events) this.#leaveOut(this.#decide(event))
  }

  #decide(event: TreeEvent): EventId[] {
    return [...this.#pruning.take(event), ...this.#oldImages.take(event)]
  }

  #leaveOut(ids: readonly EventId[]): void {
    if (ids.length === 0) return
    for (const id of ids) this.#pruned.add(id)
    this.#events = this.#events.map((event) => this.#shown(event))
  }

  #shown(event: TreeEvent): TreeEvent {
    if (!this.#pruned.has(event.id)) return event
    return isPrunable(event) ? withoutContent(event) : withoutOldImages(event)
  }

  #summaryOf(condensation: Condensation): CondensationSummaryEvent {
    const { id, timestamp, summary, given_back } = condensation
    const event: CondensationSummaryEvent = {
      kind: 'CondensationSummaryEvent',
      id: asEventId(`${id}-summary`),
      timestamp,
      parent_id: null,
      source: 'environment',
      summary: summary ?? '',
      ...(given_back === undefined ? {} : { given_back }),
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
