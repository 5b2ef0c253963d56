/**
 * The durable side of one conversation in memory: its record, its state, its view, and the one append.
 *
 * Invariants
 *   G1. `append` and `openView` run in the conversation's mailbox, one at a time.
 *   G2. The events that `append` returns are durable. Watchers receive nothing before.
 *   G3. A commit that the store refuses changes nothing here. `onLost` is called when the log is no longer what this copy knows:
 *       it has another owner, it is deleted, or it has events that this copy does not have.
 *   G4. Stored events are masked with the secrets that are current when they are stored. Executed actions are the agent's own: this process remembers those that it has stored, and
 *       restores those of an earlier one (`sealed-arguments.ts`).
 *   G5. A commit that the store has accepted never rejects, whatever fails after it.
 *   G6. A commit that may be stored without an answer is repeated with the same event ids and times, so it is stored once.
 */
import type { ActionEvent, ConversationId, ConversationState, Draft, EventId, StoredEvent } from '@parley/protocol'
import { ParleyError } from '@parley/protocol'
import { TimeSlices } from '../../lib/index.ts'
import type { Append, CachedState, MaskedSecrets, OutboxDraft } from '../../storage/index.ts'
import { BranchView, type ViewCheckpoint } from '../branch/view.ts'
import type { Channel } from '../watch/channel.ts'
import { goalEndedBy } from '../goal/goal.ts'
import { topicOf, notification } from '../record/notify.ts'
import { waitingNotice } from '../record/waiting-notice.ts'
import type { ConversationRecord } from '../record/record.ts'
import { writeCachedLog } from './cached-log.ts'
import { RunCancelled } from '../interruption.ts'
import { commitNotes } from './commit-notes.ts'
import type { LogDeps } from './log-deps.ts'
import { isOutdated, lossOf } from './refusals.ts'
import { RowChanges } from './row-changes.ts'
import { runEnd, type RunEnd } from './run-end.ts'
import { restoreArguments } from './sealed-arguments.ts'
import { stamp } from './stamp.ts'
import { columnStatus, wantsOwner } from '../record/start-status.ts'

/** The cached state is written when the conversation is at rest, and after at most this many events while it runs. */
const CACHE_EVERY = 64

/** Most times that one append is masked again because secrets were changed meanwhile. */
const MAX_MASKINGS = 10

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

/** `ended`: set when the commit ended a run. `open`: the open actions before the commit. */
export type LogCommit = {
  events: readonly StoredEvent[]
  record: ConversationRecord
  ended: RunEnd | null
  open: ConversationState['open_actions']
}

export type LogListener = {
  /** Called when this copy no longer equals the stored log. `hasNewOwner`: this process must not take the log back by itself. */
  onLost(hasNewOwner: boolean): void
  /** Called after each commit; the append waits for it. */
  onCommit(commit: LogCommit): Promise<void>
}

/** The contents of a commit that notifications depend on. */
type Commit = {
  state: ConversationState
  record: ConversationRecord
  updated_at: string
  isEdited: boolean
}

/** An append as its caller gave it, and the events that it became. */
type Attempt = {
  drafts: readonly Draft[]
  record: ConversationRecord | undefined
  events: readonly StoredEvent[]
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
  /** Open actions that this process has stored or restored, in the agent's own form. */
  readonly #originals = new Map<EventId, ActionEvent>()
  #record: ConversationRecord
  readonly #row = new RowChanges()
  /** True when the newest append was refused. */
  #isRefused = false
  /** The newest attempt while the store may have stored it without an answer. */
  #attempt: Attempt | null = null
  /** Errors of refused appends that the store may accept later. */
  readonly #refusals = new WeakSet<object>()

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

  /** Null unless `openView` was called. */
  get view(): BranchView | null {
    return this.#view
  }

  /**
   * Returns open actions of the view, in the order of the branch and in the agent's own form where it is known: a word that equals a
   * secret value remains in the command.
   */
  actions(ids: readonly EventId[]): ActionEvent[] {
    return (this.#view?.actions(ids) ?? []).map((action) => this.#originals.get(action.id) ?? action)
  }

  /** True for an open action whose own form is known. */
  isOriginal(id: EventId): boolean {
    return this.#originals.has(id)
  }

  async openView(): Promise<BranchView> {
    if (this.#view !== null) return this.#view
    const branch = { store: this.#deps.storage.events, id: this.#loaded.id, limits: this.#deps.pruning }
    const view = await BranchView.load(branch, this.#state, this.#checkpoint)
    await this.#restore(view)
    return (this.#view = view)
  }

  /** Drops the view from memory; the next `openView` reads it again. Only while no run works with it. */
  closeView(): void {
    if (this.#view !== null) this.#checkpoint = this.#view.checkpoint()
    this.#view = null
  }

  /** Takes the agent's own form of open actions that an earlier process has stored. */
  async #restore(view: BranchView): Promise<void> {
    const { storage, cipher, mask, log } = this.#deps
    const { id, owner } = this.#loaded
    const deps = {
      ...storage,
      cipher,
      log,
      mask: async (drafts: readonly Draft[]) => mask(drafts, owner, this.#record),
    }
    const open = new Map(this.#state.open_actions.map((action) => [action.id, action]))
    for (const event of view.actions([...open.keys()])) {
      if (this.#originals.has(event.id)) continue
      const restored = await restoreArguments(id, event, open.get(event.id)!, deps)
      if (restored !== null) this.#originals.set(event.id, restored)
    }
  }

  /**
   * Commits drafts, and the record where one is given, in one durable transaction.
   * @param isEdited true when a person changed the title or the tags
   * @throws RunCancelled when this copy no longer equals the stored log; the error of the store, which has changed nothing then.
   */
  async append(drafts: readonly Draft[], record?: ConversationRecord, isEdited = false): Promise<StoredEvent[]> {
    if (drafts.length === 0 && record === undefined) return []
    try {
      const events = await this.#append(drafts, record, isEdited)
      this.#accepted()
      return events
    } catch (error) {
      this.#refused(error)
      throw error
    }
  }

  /** True when the newest append was refused. */
  get isRefused(): boolean {
    return this.#isRefused
  }

  /** True for the error of a refused append that the store may accept later. */
  isRefusal(error: unknown): boolean {
    return error instanceof ParleyError && this.#refusals.has(error)
  }

  /** Checks by an append without events that the store accepts appends. @throws as `append`. */
  async expectAccepting(): Promise<void> {
    const { id, epoch } = this.#loaded
    try {
      await this.#write({ id, epoch, expectedSeq: this.#state.seq, events: [] })
      this.#accepted()
    } catch (error) {
      this.#refused(error)
      throw error
    }
  }

  #accepted(): void {
    this.#isRefused = false
    this.#attempt = null
    this.#deps.appendRetry.accepted()
  }

  #refused(error: unknown): void {
    this.#isRefused = true
    if (error instanceof ParleyError && error.code === 'unavailable') this.#refusals.add(error)
    else this.#attempt = null
  }

  /** @param refused the secrets that the store has refused as outdated, with the number of refusals */
  async #append(
    drafts: readonly Draft[],
    record: ConversationRecord | undefined,
    isEdited: boolean,
    refused: { secrets: MaskedSecrets | null; times: number } = { secrets: null, times: 0 },
  ): Promise<StoredEvent[]> {
    // A message may have many megabytes.
    const slices = new TimeSlices()
    const { id, epoch, owner } = this.#loaded
    const all = [...drafts, ...goalEndedBy(this.#state, drafts)]
    const written = record ?? this.#record
    const { drafts: hidden, masked } = await this.#deps.maskForCommit(all, owner, written, refused.secrets)
    await slices.next()
    const attempt = this.#attemptOf(drafts, record)
    const { events, state } = stamp(this.#state, hidden, this.#deps.stamps, attempt?.events)
    this.#attempt = { drafts, record, events }
    const updatedAt = this.#deps.stamps.now()
    const outbox = this.#notifications({
      state,
      record: written,
      updated_at: updatedAt.toISOString(),
      isEdited,
    })
    const row = this.#row.of({ status: columnStatus(state, written), wantsOwner: wantsOwner(state), updatedAt })
    const isDue = state.execution_status !== 'running' || state.seq - this.#cachedSeq >= CACHE_EVERY
    const text = record === undefined ? {} : { record: this.#deps.writeRecord(record) }
    await slices.next()
    try {
      await this.#write({
        id,
        epoch,
        expectedSeq: this.#state.seq,
        events,
        ...(events.length === 0 ? {} : { masked }),
        row: { ...row, ...text },
        ...(isDue ? { state: this.#cached(state) } : {}),
        ...commitNotes(id, this.#state, { events, drafts: all, state }, this.#deps.cipher),
        outbox,
      })
    } catch (error) {
      if (!isOutdated(error) || refused.times === MAX_MASKINGS) throw error
      return this.#append(drafts, record, isEdited, { secrets: masked, times: refused.times + 1 })
    }
    this.#row.accepted(row)
    const ended = runEnd(this.#state.execution_status, state, events)
    const open = this.#state.open_actions
    this.#state = state
    this.#record = written
    this.#remember(all, hidden, events)
    if (isDue) this.#cachedSeq = state.seq
    this.#channel.commit(events)
    await this.#follow({ events, record: written, ended, open })
    return events
  }

  /**
   * The earlier attempt of an append that is repeated; null: it is not. A store that has stored that attempt recognizes the same
   * ids.
   */
  #attemptOf(drafts: readonly Draft[], record: ConversationRecord | undefined): Attempt | null {
    const attempt = this.#attempt
    if (attempt?.record !== record || attempt?.drafts.length !== drafts.length) return null
    return attempt.drafts.every((draft, index) => draft === drafts[index]) ? attempt : null
  }

  /** @throws RunCancelled when the stored log is not what this copy knows */
  async #write(append: Append): Promise<void> {
    try {
      await this.#deps.storage.conversations.append(append)
    } catch (error) {
      const loss = lossOf(error)
      if (loss === null) throw error
      this.#listener.onLost(loss.hasNewOwner)
      throw new RunCancelled('lost', error)
    }
  }

  /** What follows a commit. Its failures must not reject the append, because the events are stored. */
  async #follow(commit: LogCommit): Promise<void> {
    const conversation_id = this.#loaded.id
    try {
      await this.#view?.extend(commit.events)
    } catch (err) {
      this.#deps.log.error({ conversation_id, err }, 'view of a conversation not extended; it is loaded again')
      this.#listener.onLost(false)
    }
    try {
      await this.#listener.onCommit(commit)
    } catch (err) {
      this.#deps.log.error({ conversation_id, err }, 'work after a commit failed')
    }
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
    if (!this.#deps.notifies()) return []
    const { id, created_at } = this.#loaded
    const topic = topicOf(this.#state.execution_status, state.execution_status, isEdited)
    const actionsOf = (ids: readonly EventId[]) => this.#view?.actions(ids) ?? []
    const waiting = waitingNotice({ id, before: this.#state, after: state, record, actionsOf })
    return [
      ...(topic === null ? [] : [notification(topic, { row: { id, created_at, updated_at }, record, state })]),
      ...(waiting === null ? [] : [waiting]),
    ]
  }

  #cached(state: ConversationState): CachedState {
    if (this.#view !== null) this.#checkpoint = this.#view.checkpoint()
    return writeCachedLog({ state, view: this.#checkpoint })
  }
}
