/**
 * The durable side of one conversation in memory: its record, its state, its view, and the one append.
 *
 * Invariants
 *   G1. `append` and `openView` run in the conversation's mailbox, one at a time.
 *   G2. The events that `append` returns are durable. Watchers receive nothing before.
 *   G3. A commit that the store refuses because of another owner's epoch changes nothing here; `onLost` is called once for it.
 *   G4. Stored events are masked. Executed actions are the agent's own, as long as this process remembers them.
 */
import type { ActionEvent, ConversationId, ConversationState, Draft, EventId, StoredEvent } from '@parley/protocol'
import { ParleyError } from '@parley/protocol'
import type { CachedState, OutboxDraft, Storage } from '../../storage/index.ts'
import { BranchView, type ViewCheckpoint } from '../branch/view.ts'
import type { Channel } from '../watch/channel.ts'
import { goalEndedBy } from '../goal/goal.ts'
import { topicOf, notification } from '../record/notify.ts'
import type { ConversationRecord, MaskDrafts } from '../record/record.ts'
import { writeCachedLog } from './cached-log.ts'
import { runEnd, type RunEnd } from './run-end.ts'
import { stamp, type Stamps } from './stamp.ts'
import { columnStatus } from '../record/start-status.ts'

/** The cached state is written when the conversation is at rest, and after at most this many events while it runs. */
const CACHE_EVERY = 64

/** The stored parts that a conversation is loaded from. */
export type Loaded = {
  id: ConversationId
  epoch: number
  owner: string
  created_at: string
  record: ConversationRecord
  state: ConversationState
  /** The cached view; null when there is none. */
  view: ViewCheckpoint | null
  /** `seq` of the cached state; 0 for none. */
  cachedSeq: number
}

export type LogDeps = {
  storage: Storage
  stamps: Stamps
  /** True when webhooks are configured. */
  notifies: boolean
  /** Returns the record as text for the store, secrets encrypted. */
  writeRecord: (record: ConversationRecord) => string
  /** Masks the secret values of the conversation's owner. */
  mask: MaskDrafts
}

export type LogListener = {
  /** Called when another owner has taken over: this copy is void. */
  onLost(): void
  /** Called after each commit; the append waits for it. `ended`: set when the commit ended a run. */
  onCommit(events: readonly StoredEvent[], record: ConversationRecord, ended: RunEnd | null): Promise<void>
}

/** The contents of a commit that notifications depend on. */
type Commit = {
  state: ConversationState
  record: ConversationRecord
  updated_at: string
  isEdited: boolean
}

export class LiveLog {
  readonly #loaded: Omit<Loaded, 'record' | 'state' | 'view' | 'cachedSeq'>
  readonly #channel: Channel
  readonly #deps: LogDeps
  readonly #listener: LogListener
  #state: ConversationState
  #checkpoint: ViewCheckpoint | null
  #view: BranchView | null = null
  #cachedSeq: number
  /** Open actions that this process has stored, in the agent's own form. */
  readonly #originals = new Map<EventId, ActionEvent>()
  #record: ConversationRecord

  constructor(
    { record, state, view, cachedSeq, ...loaded }: Loaded,
    channel: Channel,
    deps: LogDeps,
    listener: LogListener,
  ) {
    this.#loaded = loaded
    this.#channel = channel
    this.#deps = deps
    this.#listener = listener
    this.#record = record
    this.#state = state
    this.#checkpoint = view
    this.#cachedSeq = cachedSeq
  }

  /** The state as of the last commit. */
  get state(): ConversationState {
    return this.#state
  }

  /** The record as of the last commit. */
  get record(): ConversationRecord {
    return this.#record
  }

  /** Null until `openView` was called. */
  get view(): BranchView | null {
    return this.#view
  }

  /**
   * Returns open actions of the view, in the order of the branch and in the agent's own form: a word that equals a secret value
   * remains in the command. After a restart only the stored form exists.
   */
  actions(ids: readonly EventId[]): ActionEvent[] {
    return (this.#view?.actions(ids) ?? []).map((action) => this.#originals.get(action.id) ?? action)
  }

  /** True for an open action whose own form is known. */
  isOriginal(id: EventId): boolean {
    return this.#originals.has(id)
  }

  async openView(): Promise<BranchView> {
    this.#view ??= await BranchView.load(this.#deps.storage.events, this.#loaded.id, this.#state, this.#checkpoint)
    return this.#view
  }

  /**
   * Commits drafts, and the record where one is given, in one durable transaction.
   * @param isEdited true when a person changed the title or the tags
   * @throws ParleyError `conflict` when another owner has taken over; the error of the store.
   */
  async append(drafts: readonly Draft[], record?: ConversationRecord, isEdited = false): Promise<StoredEvent[]> {
    if (drafts.length === 0 && record === undefined) return []
    const all = [...drafts, ...goalEndedBy(this.#state, drafts)]
    const written = record ?? this.#record
    const masked = await this.#deps.mask(all, this.#loaded.owner, written)
    const { events, state } = stamp(this.#state, masked, this.#deps.stamps)
    const updated_at = this.#deps.stamps.now().toISOString()
    const outbox = this.#notifications({ state, record: written, updated_at, isEdited })
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
        ...(isDue ? { state: this.#cached(state) } : {}),
        outbox,
      })
    } catch (error) {
      if (error instanceof ParleyError && error.code === 'conflict') this.#listener.onLost()
      throw error
    }
    const ended = runEnd(this.#state.execution_status, state, events)
    this.#state = state
    this.#record = written
    this.#remember(all, masked, events)
    if (isDue) this.#cachedSeq = state.seq
    await this.#view?.extend(events)
    this.#channel.commit(events)
    await this.#listener.onCommit(events, written, ended)
    return events
  }

  /** Writes state and view, so that the next load need not read the log. A failure costs only that. */
  async cache(): Promise<void> {
    if (this.#cachedSeq === this.#state.seq && this.#view === null) return
    const { id, epoch } = this.#loaded
    const state = this.#cached(this.#state)
    await this.#deps.storage.conversations
      .append({ id, epoch, expectedSeq: this.#state.seq, events: [], state })
      .catch(() => undefined)
  }

  #remember(drafts: readonly Draft[], masked: readonly Draft[], events: readonly StoredEvent[]): void {
    events.forEach(({ event }, at) => {
      const draft = drafts[at]
      if (event.kind !== 'ActionEvent' || draft?.kind !== 'ActionEvent') return
      const isSame = draft === masked[at]
      this.#originals.set(event.id, isSame ? event : { ...event, action: draft.action, tool_call: draft.tool_call })
    })
    if (this.#originals.size === 0) return
    const open = new Set(this.#state.open_actions.map(({ id }) => id))
    for (const id of this.#originals.keys()) if (!open.has(id)) this.#originals.delete(id)
  }

  /** Returns the notifications of a commit that leads to `state`. */
  #notifications({ state, record, updated_at, isEdited }: Commit): OutboxDraft[] {
    const topic = this.#deps.notifies ? topicOf(this.#state.execution_status, state.execution_status, isEdited) : null
    if (topic === null) return []
    const { id, created_at } = this.#loaded
    return [notification(topic, { row: { id, created_at, updated_at }, record, state })]
  }

  #cached(state: ConversationState): CachedState {
    if (this.#view !== null) this.#checkpoint = this.#view.checkpoint()
    return writeCachedLog({ state, view: this.#checkpoint })
  }
}
