import type { ConversationExecutionStatus, ConversationId, EventId, StoredEvent } from '@parley/protocol'
import type { ConversationFile } from './files.ts'
import type { Note } from './notes.ts'
import type { CheckpointRow } from './checkpoints.ts'
import type { NodeNumber, PlaceId } from './nodes.ts'

/** JSON text in which the caller has already sealed the secrets. */
export type SealedJson = string

/** The searchable columns of a conversation; all other data is in `record` and `state`. */
export type ConversationRow = {
  id: ConversationId
  /** User that the conversation belongs to. */
  owner: string
  /** ISO 8601, UTC, `Z`. */
  created_at: string
  /** While the status is `running`, up to a second older than the newest event. */
  updated_at: string
  /** The newest `seq`; 0 for an empty log. */
  seq: number
  /** Number that the newest `own` returned; only its holder may append. */
  epoch: number
  /** The node that owns the conversation, or that owned it until it ended; null: none. */
  node: NodeNumber | null
  /** The data directory on whose machine the conversation works; null: it can move between nodes. A sub-agent has that of its parent. */
  place: PlaceId | null
  status: ConversationExecutionStatus
  parent_conversation_id: ConversationId | null
  record: SealedJson
}

/**
 * Why a node cannot have a conversation. `held`: another node owns it, or a conversation of its root, and has not ended as far as this
 * one may know. `away`: it works at another place. `unknown`: there is no such conversation.
 */
type NotOwned = { kind: 'held'; by: NodeNumber } | { kind: 'away'; place: PlaceId } | { kind: 'unknown' }

type Owning = ({ kind: 'owned' } & OwnedRow) | NotOwned

/** `wanting`: the conversations of the root that should run and had another owner, or none. */
export type Claiming = { kind: 'claimed'; wanting: ConversationId[] } | NotOwned

/** Who has a conversation. `isLive`: its node holds its lease. `url`: the address of the node; empty without one. */
export type Holder = { node: NodeNumber | null; isLive: boolean; url: string; place: PlaceId | null }

export type OwnedRow = {
  row: ConversationRow
  state: CachedState | null
  /** How often the process crashed in the current run. */
  crashes: number
  /** Time of the backup in which the current run was running; null: the run was not restored. ISO 8601. */
  restoredFrom: string | null
}

export type CachedState = { seq: number; json: SealedJson }

/** A notification to be written with the commit that causes it; dropped when no target is set (see `OutboxStore`). */
export type OutboxDraft = {
  topic: string
  payload: string
  /** For targets with `waiting` only. It has the number of the notification before it, so that others see no gap. */
  isOptional?: true
}

export type NewConversation = Omit<ConversationRow, 'seq' | 'epoch' | 'place'> & {
  /** Default: it can move. */
  place?: PlaceId | null
  /** Default: with the status `running` only. */
  wants_owner?: boolean
  /** A sub-agent, which has the owner of its parent always: its root and its place are those of the parent. */
  isSubAgent?: boolean
  /** First events of the log (the copied branch of a fork); their `seq` starts at 1. */
  events?: readonly StoredEvent[]
  state?: CachedState
  outbox?: readonly OutboxDraft[]
  /** Files that the record names. */
  files?: readonly ConversationFile[]
  /** Checkpoints of the copied files of a fork. */
  checkpoints?: readonly CheckpointRow[]
}

export type MaskedSecrets = { user: string; version: number }

export type Append = {
  id: ConversationId
  epoch: number
  /** The newest `seq` the writer knows; the first event must have `expectedSeq + 1`. */
  expectedSeq: number
  events: readonly StoredEvent[]
  /**
   * The secrets that are masked in the events: of this user, in this version (`SecretStore.version`). Absent: the events are not
   * compared with any.
   */
  masked?: MaskedSecrets
  /**
   * Columns to change in the same transaction; each one that is named rewrites its indexes. `wants_owner`: the conversation should run.
   * Absent: it follows from the status, which is then `running` or not.
   */
  row?: Partial<Pick<ConversationRow, 'status' | 'updated_at' | 'record'> & { wants_owner: boolean }>
  /** A newer cached state, when one is due. */
  state?: CachedState
  /** Notes to be stored in the same transaction. */
  notes?: readonly Note[]
  /** Calls that are no longer open, and batches that no longer wait. Their notes, and those of parts of calls, are deleted. */
  settled?: readonly string[]
  outbox?: readonly OutboxDraft[]
}

export type ConversationSort = 'CREATED_AT' | 'CREATED_AT_DESC' | 'UPDATED_AT' | 'UPDATED_AT_DESC'

export type ConversationQuery = {
  owner: string
  status?: ConversationExecutionStatus
  sort: ConversationSort
  limit: number
  /** Id of the first item of the page. An unknown one starts at the beginning. */
  from?: ConversationId
}

/** What becomes of a workspace with its last conversation: `auto` removes one without unsaved work. */
export type WorkspaceChoice = 'auto' | 'keep' | 'delete'

/** A deleted conversation of which something may still exist. `owner` is empty when an earlier version deleted it. */
export type OwedRelease = { id: ConversationId; owner: string; record: SealedJson; workspace: WorkspaceChoice }

export interface ConversationStore {
  /**
   * Returns `exists`, without a change, when the id is taken, when a conversation of another owner with this id was deleted, or
   * when the release of a deleted conversation with this id is owed.
   * @throws ParleyError `conflict` with `details.reason` `epoch` for a sub-agent whose parent has another node by now
   */
  create(conversation: NewConversation): Promise<'created' | 'exists'>
  get(id: ConversationId): Promise<ConversationRow | null>
  /** The user whose conversation has, or had, this id; null: no user's. */
  ownerOf(id: ConversationId): Promise<string | null>
  /** The conversations whose logs contain an event with this id; a fork has the events of its source. */
  holders(event: EventId): Promise<Pick<ConversationRow, 'id' | 'owner'>[]>
  /** Several rows in the order of `ids`; null for an unknown id. */
  getMany(ids: readonly ConversationId[]): Promise<(ConversationRow | null)[]>
  search(query: ConversationQuery): Promise<{ items: ConversationRow[]; next: ConversationId | null }>
  count(owner: string, status?: ConversationExecutionStatus): Promise<number>
  /**
   * Makes `by` the node of conversations that should run and have no node, or one that has ended, each with its whole root, and raises
   * their epochs: of at most `limit` roots, and where nodes share a store of no more than the share of one of them. Returns those that should
   * run; none: there are no more for this node.
   */
  orphans(by: NodeNumber, limit: number): Promise<ConversationId[]>
  /** Conversations that should run and have the node `by`, in any order. */
  wanting(by: NodeNumber): Promise<ConversationId[]>
  /**
   * No conversation has the node `by` any more. Their epochs stay.
   * @param keeping given by a node that still works: only conversations that can move are released, and not those of these roots
   */
  release(by: NodeNumber, keeping?: readonly ConversationId[]): Promise<void>
  /** Ids of conversations of the same owner that name this one as parent. */
  children(id: ConversationId): Promise<ConversationId[]>
  /** The cached states of several conversations, for reading only; null where there is none. */
  states(ids: readonly ConversationId[]): Promise<(CachedState | null)[]>
  /** Caches the state of a log whose newest seq is still that of the state; otherwise nothing changes. Needs no epoch. */
  cacheState(id: ConversationId, state: CachedState): Promise<void>
  /**
   * Makes `by` the owner of the conversation and of its whole root, or of none of them. Raises the epochs of those that had another owner,
   * or none; that of a conversation that `by` owns already stays.
   */
  claim(id: ConversationId, by: NodeNumber): Promise<Claiming>
  /** Who has a conversation; null: there is no such conversation. */
  holder(id: ConversationId): Promise<Holder | null>
  /**
   * Claims a conversation to load it: also raises its own epoch in every case, so that an earlier copy of the same node is refused. Returns
   * the row and the cached state.
   */
  own(id: ConversationId, by: NodeNumber): Promise<Owning>
  /**
   * Counts a crash of the process for every conversation that should run and belonged to the newest node of this place, also if another
   * node has claimed it since. The end of its work resets the count.
   */
  countCrash(): Promise<void>
  /**
   * Marks every conversation of this place that should run as restored from a backup, until its work ends, and returns their number.
   * Forgets the directories that the server has created: those that it named are not removed from here.
   */
  markRestored(backupAt: string): Promise<number>
  /** Replaces every record by what `change` returns, in one transaction. */
  changeRecords(change: (record: SealedJson) => SealedJson): Promise<void>
  /** Sets the bytes of the files of a conversation that count as stored bytes of its owner. Nothing changes for an unknown id. */
  countFiles(id: ConversationId, bytes: number): Promise<void>
  /**
   * Appends in one durable transaction; appends of one turn of the event loop share a commit. The repetition of the newest append, with
   * the same event ids, changes nothing and succeeds (S6). After `unavailable`, an append may have been stored.
   * @throws ParleyError `conflict` without a change, with `details.reason` `epoch`: another owner; `seq`: the log has another end;
   *   `duplicate_event`: the log has an event with one of these ids; `secrets`: `masked` is not the current version.
   *   `not_found`, `unavailable`.
   */
  append(append: Append): Promise<void>
  /**
   * Deletes log, row and cached state, and writes the outbox rows in the same transaction, which also records that the release
   * of the conversation is owed. False for an unknown id. `workspace`: default `keep`.
   */
  delete(id: ConversationId, outbox?: readonly OutboxDraft[], workspace?: WorkspaceChoice): Promise<boolean>
  /** Deleted conversations whose processes, folders and workspaces may still have to be released at this place. */
  owedReleases(): Promise<OwedRelease[]>
  /** True while releases of conversations of a user are owed at any place. */
  owesReleases(owner: string): Promise<boolean>
  /** Nothing of a deleted conversation is left. */
  released(id: ConversationId): Promise<void>
}
