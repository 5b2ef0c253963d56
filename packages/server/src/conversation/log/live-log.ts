/**
 * The durable side of one conversation in memory: its record, its fold, its view, and the one append.
 *
 * Invariants
 *   G1. Whoever calls `append` or `openView` is alone: both belong into the conversation's mailbox.
 *   G2. What `append` returned is durable. Nothing is told to watchers before.
 *   G3. A commit that another owner's epoch refuses changes nothing here and is said once (`onLost`).
 *   G4. What is stored is masked; what is performed is what the agent said, as long as this process remembers it.
 */
import type { ActionEvent, ConversationId, ConversationState, Draft, EventId, StoredEvent } from '@parley/protocol'
import { ParleyError, replay } from '@parley/protocol'
import type { OutboxDraft, Storage } from '../../storage/index.ts'
import { BranchView, type ViewCheckpoint } from '../branch/view.ts'
import type { Channel } from '../watch/channel.ts'
import { goalEndedBy } from '../goal/goal.ts'
import { causeOf, notification, usageRecords } from '../record/notify.ts'
import type { ConversationRecord } from '../record/record.ts'
import { runEnd, type RunEnd } from '../run/run-end.ts'
import { stamp, type Stamps } from './stamp.ts'
import { columnStatus } from '../start/phases/index.ts'

/** A cached fold is written when the conversation rests, and at least this often while it runs. */
const CACHE_EVERY = 64

export type CachedFold = { state: ConversationState; view: ViewCheckpoint | null }

/** What a conversation is loaded from. */
export type Loaded = {
  id: ConversationId
  epoch: number
  owner: string
  created_at: string
  record: ConversationRecord
  cached: CachedFold | null
  tail: StoredEvent[]
}

export type LogDeps = {
  storage: Storage
  stamps: Stamps
  /** Whether anybody is told by webhook. */
  notifies: boolean
  /** The record as text for the store, secrets sealed. */
  writeRecord: (record: ConversationRecord) => string
  /** Drafts without the secret values of the conversation's owner. */
  mask: (
    drafts: readonly Draft[],
    owner: string,
    record: ConversationRecord,
  ) => readonly Draft[] | Promise<readonly Draft[]>
}

export type LogListener = {
  /** Another owner has taken over: nothing of this copy counts any more. */
  onLost(): void
  /** Told after each commit; the append waits for it. `ended` when the commit ended a run. */
  onCommit(events: readonly StoredEvent[], record: ConversationRecord, ended: RunEnd | null): Promise<void>
}

/** What a commit writes, as far as notifications are concerned. */
type Told = {
  state: ConversationState
  events: readonly StoredEvent[]
  record: ConversationRecord
  updated_at: string
  isEdited: boolean
}

export class LiveLog {
  readonly #loaded: Omit<Loaded, 'record' | 'cached' | 'tail'>
  readonly #channel: Channel
  readonly #deps: LogDeps
  readonly #listener: LogListener
  #state: ConversationState
  #checkpoint: ViewCheckpoint | null
  #view: BranchView | null = null
  #cachedSeq: number
  /** Open actions whose stored form hides a secret value, as they were said. */
  readonly #said = new Map<EventId, ActionEvent>()
  /** As the next commit will write it. */
  record: ConversationRecord

  constructor({ record, cached, tail, ...loaded }: Loaded, channel: Channel, deps: LogDeps, listener: LogListener) {
    this.#loaded = loaded
    this.#channel = channel
    this.#deps = deps
    this.#listener = listener
    this.record = record
    this.#state = replay(tail, cached?.state)
    this.#checkpoint = cached?.view ?? null
    this.#cachedSeq = cached?.state.seq ?? 0
  }

  /** The fold as of the last commit. */
  get state(): ConversationState {
    return this.#state
  }

  /** Null until something needed it. */
  get view(): BranchView | null {
    return this.#view
  }

  /**
   * Open actions of the view, in the order of the branch, as the agent said them: a word that happens to be a secret's value
   * stays a word of the command. After a restart only the stored form is left.
   */
  actions(ids: readonly EventId[]): ActionEvent[] {
    return (this.#view?.actions(ids) ?? []).map((action) => this.#said.get(action.id) ?? action)
  }

  async openView(): Promise<BranchView> {
    this.#view ??= await BranchView.load(this.#deps.storage.events, this.#loaded.id, this.#state, this.#checkpoint)
    return this.#view
  }

  /**
   * Commits drafts, and the record where one is given, in one durable transaction.
   * @param isEdited whether a person changed title or tags with it
   * @throws ParleyError `conflict` when another owner has taken over; whatever the store fails with.
   */
  async append(drafts: readonly Draft[], record?: ConversationRecord, isEdited = false): Promise<StoredEvent[]> {
    if (drafts.length === 0 && record === undefined) return []
    const all = [...drafts, ...goalEndedBy(this.#state, drafts)]
    const written = record ?? this.record
    const masked = await this.#deps.mask(all, this.#loaded.owner, written)
    const { events, state } = stamp(this.#state, masked, this.#deps.stamps)
    const updated_at = this.#deps.stamps.now().toISOString()
    const outbox = await this.#notifications({ state, events, record: written, updated_at, isEdited })
    const isDue = state.execution_status !== 'running' || state.seq - this.#cachedSeq >= CACHE_EVERY
    try {
      await this.#deps.storage.conversations.append({
        id: this.#loaded.id,
        epoch: this.#loaded.epoch,
        expectedSeq: this.#state.seq,
        events,
        row: {
          status: columnStatus(state, written),
          updated_at,
          ...(record === undefined ? {} : { record: this.#deps.writeRecord(record) }),
        },
        ...(isDue ? { state: { seq: state.seq, json: this.#cacheText(state) } } : {}),
        outbox,
      })
    } catch (error) {
      if (error instanceof ParleyError && error.code === 'conflict') this.#listener.onLost()
      throw error
    }
    const ended = runEnd(this.#state.execution_status, state, events)
    this.#state = state
    this.#remember(all, masked, events)
    if (isDue) this.#cachedSeq = state.seq
    await this.#view?.extend(events)
    this.#channel.commit(events)
    await this.#listener.onCommit(events, written, ended)
    return events
  }

  /** Writes fold and view, so that the next one who loads the conversation need not read back. A failure costs only that. */
  async cache(): Promise<void> {
    if (this.#cachedSeq === this.#state.seq && this.#view === null) return
    const { id, epoch } = this.#loaded
    const state = { seq: this.#state.seq, json: this.#cacheText(this.#state) }
    await this.#deps.storage.conversations
      .append({ id, epoch, expectedSeq: this.#state.seq, events: [], state })
      .catch(() => undefined)
  }

  #remember(drafts: readonly Draft[], masked: readonly Draft[], events: readonly StoredEvent[]): void {
    events.forEach(({ event }, at) => {
      const said = drafts[at]
      if (event.kind !== 'ActionEvent' || said?.kind !== 'ActionEvent' || said === masked[at]) return
      this.#said.set(event.id, { ...event, action: said.action, tool_call: said.tool_call })
    })
    if (this.#said.size === 0) return
    const open = new Set(this.#state.open_actions.map(({ id }) => id))
    for (const id of this.#said.keys()) if (!open.has(id)) this.#said.delete(id)
  }

  /** What the commit of `events`, which leads to `state`, owes to those who are told by webhook. */
  async #notifications({ state, events, record, updated_at, isEdited }: Told): Promise<OutboxDraft[]> {
    const cause = this.#deps.notifies ? causeOf(this.#state.execution_status, state.execution_status, isEdited) : null
    if (cause === null) return []
    const { id, created_at } = this.#loaded
    const earlier = await usageRecords(this.#deps.storage.events, id, this.#state)
    const usage = [...earlier, ...events.filter(({ event }) => event.kind === 'UsageRecordedEvent')]
    return [notification(cause, { row: { id, created_at, updated_at }, record, state, usage })]
  }

  #cacheText(state: ConversationState): string {
    if (this.#view !== null) this.#checkpoint = this.#view.checkpoint()
    return JSON.stringify({ state, view: this.#checkpoint } satisfies CachedFold)
  }
}
