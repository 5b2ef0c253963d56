/**
 * The view of the active branch, kept in memory during a run and restored from a checkpoint, so that the cost of opening a
 * conversation depends on its view and not on its log.
 */
import type { ActionEvent, ConversationId, ConversationState, EventId, StoredEvent, TreeEvent } from '@parley/protocol'
import { isTreeEvent } from '@parley/protocol'
import { View, type PruneLimits } from '../../agent/index.ts'
import { valueBytes } from '../../lib/index.ts'
import { unreadable, type EventStore } from '../../storage/index.ts'
import { readBranch } from './reader.ts'

/**
 * The view as of `seq`: the seq of each event in it; a negative seq represents the summary of that Condensation. `pruned`: the seq of
 * each result without its content, and of each other event without its images; absent in a checkpoint of 0.1.0 before results were left out, which is not used.
 */
export type ViewCheckpoint = { seq: number; items: number[]; requested: boolean; pruned?: number[] }

/** The conversation of a view. `limits`: when results are left out of it. */
export type Branch = { store: EventStore; id: ConversationId; limits: PruneLimits }

const PAGE = 500

export class BranchView {
  readonly #store: EventStore
  readonly #id: ConversationId
  readonly #limits: PruneLimits
  readonly #seqs = new Map<string, number>()
  /** Messages that a hook has blocked: the model never receives them (F14). */
  #blocked: ReadonlySet<string>
  #view: View
  #seq: number

  private constructor({ store, id, limits }: Branch, seq: number, blocked: ReadonlySet<string>) {
    this.#store = store
    this.#id = id
    this.#limits = limits
    this.#view = new View(limits)
    this.#seq = seq
    this.#blocked = blocked
  }

  /** Loads the view from the checkpoint and the events after it; without one, or after the leaf moved, from the branch itself. */
  static async load(branch: Branch, state: ConversationState, checkpoint: ViewCheckpoint | null): Promise<BranchView> {
    const loaded = checkpoint === null ? null : await BranchView.#restore(branch, state, checkpoint)
    if (loaded !== null) return loaded
    const view = new BranchView(branch, state.seq, blockedIn(state))
    await view.#rebuild(state.leaf_event_id)
    return view
  }

  static async #restore(
    branch: Branch,
    state: ConversationState,
    checkpoint: ViewCheckpoint,
  ): Promise<BranchView | null> {
    if (checkpoint.pruned === undefined) return null
    const { store, id, limits } = branch
    const stored = await store.getMany(id, checkpoint.items.map(Math.abs))
    const bySeq = new Map(stored.map((event) => [event.seq, event]))
    const restored = new BranchView(branch, checkpoint.seq, blockedIn(state))
    const items: TreeEvent[] = []
    for (const item of checkpoint.items) {
      const found = bySeq.get(Math.abs(item))
      if (found === undefined || !isTreeEvent(found.event)) return null
      restored.#seqs.set(found.event.id, found.seq)
      items.push(found.event)
    }
    const pruned = new Set(checkpoint.pruned.flatMap((seq) => bySeq.get(seq)?.event.id ?? []))
    restored.#view = View.restore(items, { isCondensationRequested: checkpoint.requested, pruned }, limits)
    for (let from = checkpoint.seq + 1; from <= state.seq;) {
      const page = await store.page(id, { from, limit: PAGE })
      if (page.length === 0) return null
      await restored.extend(page)
      from = page.at(-1)!.seq + 1
    }
    return restored
  }

  /** Adds appended events. */
  async extend(events: readonly StoredEvent[]): Promise<void> {
    for (const { seq, event } of events) {
      this.#seq = seq
      if (isTreeEvent(event)) {
        this.#seqs.set(event.id, seq)
        if (!this.#blocked.has(event.id)) this.#view.append(event)
        if (event.kind === 'Condensation') this.#forget()
      } else if (event.kind === 'LeafMovedEvent') await this.#rebuild(event.to)
      else if (event.kind === 'StateChangedEvent' && event.key === 'blocked_messages')
        this.#blocked = new Set(Object.keys(event.value as object))
    }
  }

  events(): readonly TreeEvent[] {
    return this.#view.events()
  }

  /** Approximate size in memory. */
  get bytes(): number {
    return this.#view.events().reduce((sum, event) => sum + valueBytes(event), 0)
  }

  get isCondensationRequested(): boolean {
    return this.#view.isCondensationRequested
  }

  /** Returns action events of the view by id, oldest first. Searches from the end, because open actions are there. */
  actions(ids: readonly EventId[]): ActionEvent[] {
    const wanted = new Set<string>(ids)
    const events = this.#view.events()
    const found: ActionEvent[] = []
    for (let at = events.length - 1; at >= 0 && wanted.size > 0; at--) {
      const event = events[at]!
      if (wanted.delete(event.id) && event.kind === 'ActionEvent') found.push(event)
    }
    return found.reverse()
  }

  checkpoint(): ViewCheckpoint {
    const items: number[] = []
    for (const event of this.#view.sources()) {
      const seq = this.#seqs.get(event.id)
      if (seq !== undefined) items.push(event.kind === 'Condensation' ? -seq : seq)
    }
    const pruned = [...this.#view.pruned].flatMap((id) => this.#seqs.get(id) ?? [])
    return { seq: this.#seq, items, requested: this.#view.isCondensationRequested, pruned }
  }

  /** Removes condensed events from memory, which is that of the view, not of the log. */
  #forget(): void {
    const kept = this.#view.sources().flatMap(({ id }): [string, number][] => {
      const seq = this.#seqs.get(id)
      return seq === undefined ? [] : [[id, seq]]
    })
    this.#seqs.clear()
    for (const [id, seq] of kept) this.#seqs.set(id, seq)
  }

  async #rebuild(leaf: EventId | null): Promise<void> {
    const path = await readBranch(this.#store, this.#id, leaf)
    // A view that lacks events looks like one whose calls have ended.
    if (leaf !== null && path.at(-1)?.event.id !== leaf)
      throw unreadable(this.#id, `event ${leaf} of its log`, new Error('the end of the branch is not stored'))
    this.#seqs.clear()
    for (const { seq, event } of path) this.#seqs.set(event.id, seq)
    const events = path.map(({ event }) => event).filter(({ id }) => !this.#blocked.has(id))
    this.#view = View.rebuild(events, this.#limits)
  }
}

const blockedIn = ({ blocked_messages }: ConversationState): ReadonlySet<string> =>
  new Set(Object.keys(blocked_messages))
