/**
 * The checkpoints of one conversation in memory: its files, and the events that they belong to.
 *
 * Invariants
 *   K1. A checkpoint belongs to the newest event of the branch when it began; the files of an event are those of the last
 *       checkpoint at or before it, in the order of the log.
 *   K2. It is made beside the run, while the model works. The calls of an answer do not begin, and no run ends, before it is stored.
 *       Calls of one answer do not wait for each other's.
 *   K3. The objects of a stored checkpoint exist. After a failure, the next events have no checkpoint instead of an old one.
 * Source: docs/operations.md, Checkpoints of files.
 */
import {
  isTreeEvent,
  ParleyError,
  type ConversationState,
  type Draft,
  type Event,
  type StoredEvent,
} from '@parley/protocol'
import { abortable, Mailbox } from '../../lib/index.ts'
import type { Log } from '../../observability/index.ts'
import type { CheckpointRow, Storage } from '../../storage/index.ts'
import type { CheckpointPlace, CheckpointRepository, Workspaces } from '../../workspace/index.ts'
import { serviceMessage } from '../drafts.ts'
import { RunCancelled } from '../interruption.ts'
import type { LiveActions, LiveReader } from '../live-access.ts'
import { mayHaveWritten } from './may-write.ts'
import { placeOfFiles, type CheckpointPlaces } from './place.ts'
import { changedFilesText, MAX_LISTED } from './report.ts'

/** The tree of events after a failed checkpoint. */
const NONE = ''
/** Events after the leaf that are looked at; a run ends with a few. */
const LATER_EVENTS = 20
/** Events after the last checkpoint that are searched for calls; every call has its own checkpoint. */
const MAX_SEARCHED = 500

export type FileCheckpointDeps = CheckpointPlaces & {
  storage: Pick<Storage, 'checkpoints' | 'events'>
  workspaces: Pick<Workspaces, 'checkpoints'>
  /** Resolves when this process may begin an effect. */
  confirm: (signal: AbortSignal) => Promise<void>
  log: Pick<Log, 'warn'>
}

type Live = Pick<LiveReader, 'id' | 'epoch' | 'state' | 'record'> & Pick<LiveActions, 'inBackground'>

/** The files of a conversation at one event. */
export type FilesAt = { place: CheckpointPlace; tree: string; checkpoints: CheckpointRow[] }

/** Why the files of an event are not known, for people. */
export type Missing = { missing: string }

export class FileCheckpoints {
  readonly #live: Live
  readonly #deps: FileCheckpointDeps
  readonly #mailbox = new Mailbox()
  #open: { workingDir: string; repository: CheckpointRepository } | null = null
  /** Undefined until it was read. */
  #newest: CheckpointRow | null | undefined
  /** Why the newest checkpoint failed in this process; null: it did not. */
  #failure: string | null = null
  #isRequested = false
  /** True when calls that may have written precede the requested checkpoint. */
  #followsCalls = false
  #last: Promise<void> = Promise.resolve()
  #packing: AbortController | null = null
  /** Set for a conversation that an earlier process left running: its calls then, and how many of them have a result now. */
  #takenOver: { open: number; answered: number } | null = null
  /** The last checkpoint of an earlier process, and the different files that this one found. */
  #difference: { from: string; to: string } | null = null

  constructor(live: Live, deps: FileCheckpointDeps) {
    this.#live = live
    this.#deps = deps
  }

  /** The conversation was running when the previous process ended, so files that differ from the last checkpoint are reported. */
  takeOver(): void {
    this.#takenOver = { open: this.#live.state().open_actions.length, answered: 0 }
  }

  /** Begins a checkpoint of the files as they are now, if the conversation has checkpoints. One that waits already is enough. */
  request(): void {
    if (this.#isRequested || this.#place() === null) return
    this.#isRequested = true
    this.#packing?.abort(new Error('a checkpoint is due'))
    this.#last = this.#alone((signal) => {
      this.#isRequested = false
      return this.#take(signal)
    }).catch(() => undefined)
  }

  /** Begins a checkpoint if these events follow calls that may have written. */
  after(events: readonly StoredEvent[]): void {
    if (this.#takenOver !== null)
      this.#takenOver.answered += events.filter(({ event }) => event.kind === 'ObservationEvent').length
    if (!events.some(({ event }) => mayHaveWritten(event))) return
    this.#followsCalls = true
    this.request()
  }

  /** True while a requested checkpoint is not stored yet. */
  get isRecording(): boolean {
    return !this.#mailbox.isEmpty
  }

  /** Resolves when the requested checkpoint is stored, or has failed. */
  recorded(signal: AbortSignal): Promise<void> {
    return abortable(this.#last, signal)
  }

  /** Once after a take-over: a message about files that differ from the last checkpoint, for which no result of a call accounts. */
  async report(signal: AbortSignal): Promise<Draft[]> {
    if (this.#takenOver === null) return []
    await this.recorded(signal)
    const { open, answered } = this.#takenOver
    const difference = this.#difference
    this.#takenOver = null
    this.#difference = null
    if (difference === null || (open > 0 && answered >= open)) return []
    const { from, to } = difference
    const found = await this.#alone((own) => this.#repository()!.changes(from, to, MAX_LISTED, own)).catch(() => null)
    return found === null ? [] : [serviceMessage(changedFilesText(found, open > 0))]
  }

  /**
   * Makes the files those of the event `seq`. Those that are there now get a checkpoint first. The event that records it follows:
   * `restored` then stores the checkpoint of that event.
   * @throws ParleyError `conflict` when there is no checkpoint; `unavailable` when the files cannot be written
   */
  async restore(seq: number): Promise<string> {
    const { id, state } = this.#live
    // Checked again by the navigation, but then the files are changed already.
    if (state().execution_status === 'running')
      throw new ParleyError('conflict', 'The conversation is running. Pause it before you navigate.')
    if (this.#place() === null) throw noCheckpoint(NOT_HERE)
    const target = await this.#deps.storage.checkpoints.at(id, seq)
    if (target === null || target.tree === NONE) throw noCheckpoint(this.#whyMissing(target))
    await this.#alone(async (signal) => {
      const repository = this.#repository()!
      const before = await repository.takeBefore(target.tree, signal)
      if (before !== (await this.#known())?.tree) await this.#store(await this.#seqOf(state()), before)
      await this.#deps.confirm(signal)
      await repository.checkOut(target.tree, signal)
    })
    return target.tree
  }

  /** Stores that the files are those of `tree` from the newest event on. After a failure, the next checkpoint does it. */
  async restored(tree: string): Promise<void> {
    await this.#alone(() => this.#store(this.#live.state().seq, tree)).catch((err: unknown) =>
      this.#warn(err, 'checkpoint of restored files not stored'),
    )
  }

  /**
   * Runs `work`, which copies the files of the event `seq`; null: as they are now. No checkpoint is made meanwhile.
   * @returns its result, or why there is no checkpoint to copy
   */
  async copy<T>(
    seq: number | null,
    work: (files: FilesAt, signal: AbortSignal) => Promise<T>,
  ): Promise<{ result: T } | Missing> {
    const place = this.#place()
    if (place === null) return { missing: NOT_HERE }
    // While a run is active, its last checkpoint counts: a call may be writing.
    if (seq === null && this.#live.state().execution_status !== 'running') this.request()
    return this.#alone(async (signal) => {
      const checkpoints = await this.#deps.storage.checkpoints.list(this.#live.id)
      const last = checkpoints.findLast((row) => seq === null || row.seq <= seq)
      if (last === undefined || last.tree === NONE) return { missing: this.#whyMissing(last ?? null) }
      const kept = checkpoints.filter(({ tree }) => tree !== NONE)
      return { result: await work({ place, tree: last.tree, checkpoints: kept }, signal) }
    })
  }

  /** Packs the objects when there are many. Called when no call is about to begin; a checkpoint that is due ends it. */
  tidy(): void {
    if (this.#open === null) return
    const controller = new AbortController()
    this.#packing = controller
    this.#alone((signal) => this.#pack(signal), controller.signal).catch((err: unknown) => {
      if (!controller.signal.aborted && !(err instanceof RunCancelled)) this.#warn(err, 'checkpoints not packed')
    })
  }

  #place(): CheckpointPlace | null {
    if (this.#deps.workspaces.checkpoints === undefined) return null
    const { id, epoch, record } = this.#live
    return placeOfFiles({ id, epoch, record: record() }, this.#deps)
  }

  #repository(): CheckpointRepository | null {
    const place = this.#place()
    if (place === null) return null
    if (this.#open?.workingDir !== place.workingDir) {
      this.#open = { workingDir: place.workingDir, repository: this.#deps.workspaces.checkpoints!.open(place) }
    }
    return this.#open!.repository
  }

  #alone<T>(work: (signal: AbortSignal) => Promise<T>, signal?: AbortSignal): Promise<T> {
    return this.#mailbox.run(() => this.#live.inBackground(work, signal))
  }

  async #take(signal: AbortSignal): Promise<void> {
    const state = this.#live.state()
    const followsCalls = this.#followsCalls
    this.#followsCalls = false
    const newest = await this.#known()
    try {
      const tree = await this.#repository()!.take(signal)
      this.#failure = null
      // After calls, the same tree is stored again: it tells that they are part of it.
      if (tree === newest?.tree && !followsCalls) return
      if (this.#takenOver !== null && newest !== null && newest.tree !== NONE && tree !== newest.tree)
        this.#difference ??= (await this.#hasCallsAfter(newest.seq)) ? null : { from: newest.tree, to: tree }
      await this.#store(await this.#seqOf(state), tree)
    } catch (error) {
      if (signal.aborted) return
      const isNews = this.#failure === null
      this.#failure = error instanceof Error ? error.message : String(error)
      if (newest?.tree === NONE) return
      if (isNews) this.#warn(error, 'no checkpoint of the files')
      if (newest !== null) await this.#store(await this.#seqOf(state), NONE).catch(() => undefined)
    }
  }

  /**
   * The event that files belong to which are there when the log ends at `now`. The first checkpoint belongs to everything before
   * it, if no call has begun. Otherwise it is the leaf, so that the files can be restored, unless the log has gone another way since.
   */
  async #seqOf({ seq: now, leaf_event_id: leaf, last_response_id }: ConversationState): Promise<number> {
    const { id } = this.#live
    const { events } = this.#deps.storage
    const newest = await this.#known()
    if (newest === null) return last_response_id === null ? 0 : now
    const event = leaf === null ? null : await events.get(id, leaf)
    if (event === null || event.seq <= newest.seq) return now
    const later = await events.page(id, { from: event.seq + 1, limit: LATER_EVENTS })
    const isEnd = later.length < LATER_EVENTS && later.every(({ seq, event: next }) => seq > now || !isOfBranch(next))
    return isEnd ? event.seq : now
  }

  /** True when calls have ended whose checkpoint an earlier process did not store. */
  async #hasCallsAfter(seq: number): Promise<boolean> {
    const later = await this.#deps.storage.events.page(this.#live.id, { from: seq + 1, limit: MAX_SEARCHED })
    return later.length === MAX_SEARCHED || later.some(({ event }) => mayHaveWritten(event))
  }

  async #known(): Promise<CheckpointRow | null> {
    return (this.#newest ??= await this.#deps.storage.checkpoints.at(this.#live.id))
  }

  async #store(seq: number, tree: string): Promise<void> {
    const { id, epoch } = this.#live
    if (tree !== NONE) await this.#repository()!.keep(tree)
    await this.#deps.storage.checkpoints.put(id, epoch, { seq, tree })
    this.#newest = { seq, tree }
  }

  /** Forgets the older half of the checkpoints as long as all together are too large. */
  async #pack(signal: AbortSignal): Promise<void> {
    const { id } = this.#live
    const { checkpoints } = this.#deps.storage
    const repository = this.#repository()
    if (repository === null || !(await repository.isDueForPacking(signal))) return
    const { keptBytes } = this.#deps.workspaces.checkpoints!.limits
    while ((await repository.pack(signal)) > keptBytes) {
      const rows = await checkpoints.list(id)
      const kept = rows[Math.ceil(rows.length / 2)]
      if (kept === undefined) break
      await checkpoints.removeBefore(id, kept.seq)
      const trees = rows.filter(({ seq }) => seq >= kept.seq).map(({ tree }) => tree)
      await repository.forgetExcept(trees, signal)
    }
  }

  /** Why an event has no checkpoint whose last one is `last`. */
  #whyMissing(last: CheckpointRow | null): string {
    const isNewest = (last?.seq ?? null) === (this.#newest?.seq ?? null)
    return (isNewest ? this.#failure : null) ?? 'There is no checkpoint of the files at this event.'
  }

  #warn(err: unknown, text: string): void {
    this.#deps.log.warn({ conversation_id: this.#live.id, err }, text)
  }
}

/** Why a conversation without checkpoints cannot return to the files of an event, or copy them. */
export const NOT_HERE = 'This conversation has no checkpoints of its files.'

/** True for events that extend a branch, or move to another one. */
const isOfBranch = (event: Event): boolean => isTreeEvent(event) || event.kind === 'LeafMovedEvent'

const noCheckpoint = (why: string): ParleyError =>
  new ParleyError('conflict', `${why} Navigate without restore_files, or choose a later event.`, {
    details: { reason: 'no_checkpoint' },
  })
