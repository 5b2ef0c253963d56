/**
 * The contract of a store. One contract suite (`test/storage/contract.ts`) runs on every implementation.
 *
 * Invariants
 *   S1. `seq` is dense per conversation and starts at 1.
 *   S2. An append is one durable transaction: events, row, cached state, outbox — all or nothing.
 *   S3. An append with an old epoch or another `expectedSeq` changes nothing and is refused.
 *   S4. A resolved append survives power loss.
 *   S5. A page costs the same at both ends of a log of any length.
 */
import type { ConversationExecutionStatus, ConversationId, EventId, StoredEvent } from '@parley/protocol'

/** JSON text in which the caller has already sealed the secrets. */
type SealedJson = string

/** The searchable columns of a conversation; all other data is in `record` and `state`. */
export type ConversationRow = {
  id: ConversationId
  /** User that the conversation belongs to. */
  owner: string
  /** ISO 8601, UTC, `Z`. */
  created_at: string
  updated_at: string
  /** The newest `seq`; 0 for an empty log. */
  seq: number
  /** Number that the newest `own` returned; only its holder may append. */
  epoch: number
  status: ConversationExecutionStatus
  parent_conversation_id: ConversationId | null
  record: SealedJson
}

/** `crashes`: how often the process crashed in the current run. */
type OwnedRow = { row: ConversationRow; state: CachedState | null; crashes: number }

export type CachedState = { seq: number; json: SealedJson }

/** A notification to be written with the commit that causes it; dropped when no target is set (see `OutboxStore`). */
export type OutboxDraft = { topic: string; payload: string }

export type NewConversation = Omit<ConversationRow, 'seq' | 'epoch'> & {
  /** First events of the log (the copied branch of a fork); their `seq` starts at 1. */
  events?: readonly StoredEvent[]
  state?: CachedState
  outbox?: readonly OutboxDraft[]
}

export type Append = {
  id: ConversationId
  epoch: number
  /** The newest `seq` the writer knows; the first event must have `expectedSeq + 1`. */
  expectedSeq: number
  events: readonly StoredEvent[]
  /** Columns to change in the same transaction. */
  row?: Partial<Pick<ConversationRow, 'status' | 'updated_at' | 'record'>>
  /** A newer cached state, when one is due. */
  state?: CachedState
  outbox?: readonly OutboxDraft[]
}

export type EventFilter = {
  /** Stored kinds; any of them. */
  kinds?: readonly string[]
  source?: string
  /** Case-insensitive substring over the text, extended content and reasoning of MessageEvents; other kinds never match. */
  body?: string
  /** Compared with the event's `timestamp` as text (ISO, UTC, no offset). */
  timestampGte?: string
  timestampLt?: string
}

type EventPage = {
  /** First seq of the page, inclusive. Ascending: default 1. Descending: default the newest. */
  from?: number
  order?: 'asc' | 'desc'
  limit: number
  filter?: EventFilter
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

export interface ConversationStore {
  /** Returns `exists`, without a change, when the id is taken, or when the release of a deleted conversation with this id is owed. */
  create(conversation: NewConversation): Promise<'created' | 'exists'>
  get(id: ConversationId): Promise<ConversationRow | null>
  /** The conversations whose logs contain an event with this id; a fork has the events of its source. */
  holders(event: EventId): Promise<Pick<ConversationRow, 'id' | 'owner'>[]>
  /** Several rows in the order of `ids`; null for an unknown id. */
  getMany(ids: readonly ConversationId[]): Promise<(ConversationRow | null)[]>
  search(query: ConversationQuery): Promise<{ items: ConversationRow[]; next: ConversationId | null }>
  count(owner: string, status?: ConversationExecutionStatus): Promise<number>
  /** Ids of conversations whose stored status is `running`, which a starting server takes over. */
  running(): Promise<ConversationId[]>
  /** Ids of conversations of the same owner that name this one as parent. */
  children(id: ConversationId): Promise<ConversationId[]>
  /** The cached states of several conversations, for reading only; null where there is none. */
  states(ids: readonly ConversationId[]): Promise<(CachedState | null)[]>
  /** Caches the state of a log whose newest seq is still that of the state; otherwise nothing changes. Needs no epoch. */
  cacheState(id: ConversationId, state: CachedState): Promise<void>
  /** Raises the epoch, so that every earlier owner is refused, and returns the row and the cached state. Null for an unknown id. */
  own(id: ConversationId): Promise<OwnedRow | null>
  /** Counts a crash of the process for every conversation whose stored status is `running`. Another status resets its count. */
  countCrash(): Promise<void>
  /**
   * Appends in one durable transaction; appends of one turn of the event loop share a commit.
   * @throws ParleyError `conflict` with `details.reason` `epoch` or `seq`, without a change.
   */
  append(append: Append): Promise<void>
  /**
   * Deletes log, row and cached state, and writes the outbox rows in the same transaction, which also records that the release
   * of the conversation is owed. False for an unknown id.
   */
  delete(id: ConversationId, outbox?: readonly OutboxDraft[]): Promise<boolean>
  /** Deleted conversations whose processes and folders may still exist, with their records. */
  owedReleases(): Promise<{ id: ConversationId; record: SealedJson }[]>
  /** Nothing of a deleted conversation is left. */
  released(id: ConversationId): Promise<void>
}

export interface EventStore {
  page(id: ConversationId, page: EventPage): Promise<StoredEvent[]>
  count(id: ConversationId, filter?: EventFilter): Promise<number>
  /** One event by its id. */
  get(id: ConversationId, event: EventId): Promise<StoredEvent | null>
  /** Several events by seq, ascending. */
  getMany(id: ConversationId, seqs: readonly number[]): Promise<StoredEvent[]>
  /** The newest events of one kind, newest first. */
  newest(id: ConversationId, kind: string, limit: number): Promise<StoredEvent[]>
}

/** A receiver of notifications and events. */
export type OutboxTarget = {
  /** Key of the stored deliveries; the same name finds them again after a restart. */
  name: string
  /** True: the target also gets the events of the logs, in batches. */
  events: boolean
}

type DeliveryStatus = 'pending' | 'delivered' | 'parked'

/** One notification, or one batch of events, for one target. */
export type Delivery = {
  /** Unique and permanent. */
  id: string
  target: string
  conversation_id: ConversationId
  /** A lane consists of the deliveries of one target, conversation and kind. They are sent one after another, in the order of their insertion. */
  kind: 'notification' | 'events'
  topic: string
  /** For a notification: its number in its conversation, dense from 1. For a batch: the seq of its first event. */
  sequence: number
  status: DeliveryStatus
  created_at: string
  /** Time of the insertion or of the last `redeliver`; the age of a delivery counts from it. */
  queued_at: string
  /** Attempts that reached the target, since the insertion or the last `redeliver`. */
  attempts: number
  first_attempt_at: string | null
  /** Null while an earlier delivery of its lane is pending, and when this one is finished. */
  next_attempt_at: string | null
  /** HTTP status of the newest answer; null when there was none. */
  last_status: number | null
  last_error: string | null
  /** Time at which the delivery was acknowledged or parked. */
  finished_at: string | null
}

export type DeliveryBody =
  | { kind: 'notification'; payload: string }
  | { kind: 'events'; events: readonly StoredEvent[] }

/** Longest time between an attempt and the next one, in milliseconds. */
export const MAX_DELIVERY_WAIT_MS = 24 * 3600 * 1000

/** Result of an attempt. */
export type DeliveryOutcome = {
  at: string
  last_status: number | null
  last_error: string | null
  /** False: the target could not be reached, which does not count as an attempt. Default true. */
  isSent?: boolean
} & ({ status: 'delivered' | 'parked' } | { status: 'pending'; next_attempt_at: string })

/** Deliveries and events that a commit has added. */
export type OutboxChange = {
  conversation_id: ConversationId
  /** Deliveries that may be due now. */
  deliveries: boolean
  /** Events appended to a log that a target follows. */
  events: number
  /** The conversation is deleted: the rest of its log can be sent at once. */
  isOver: boolean
}

export type BatchLimits = {
  /** Cut no batch while fewer events wait, unless the conversation is deleted. */
  atLeast: number
  atMost: number
  /** Bytes of stored events; a larger event is a batch of its own. */
  maxBytes: number
}

/**
 * Deliveries and their progress. A target follows a log from the first append after the target was set, and then gets every
 * event: the log of a deleted conversation is kept until all targets have it.
 */
export interface OutboxStore {
  /**
   * Sets the targets of later commits; without targets nothing is written. Pending deliveries of a removed target are parked, and
   * its followed logs are dropped.
   */
  setTargets(targets: readonly OutboxTarget[]): Promise<void>
  /** Calls `listener` after each commit of this process that adds deliveries or events. Returns a function that unsubscribes. */
  subscribe(listener: (change: OutboxChange) => void): () => void
  /**
   * The first deliveries of lanes that are due at `now`, the longest waiting first. One whose time is more than `MAX_DELIVERY_WAIT_MS`
   * ahead is due too: no wait is that long, so the clock was set back.
   */
  due(target: string, now: string, limit: number): Promise<Delivery[]>
  /** Time at which the next delivery after `now` is due; null when none waits. */
  nextDue(target: string, now: string): Promise<string | null>
  /** The body of a delivery; null when it was deleted. */
  body(id: string): Promise<DeliveryBody | null>
  /** Records the result of an attempt. When the delivery is finished, the next one of its lane is due at once. */
  record(id: string, outcome: DeliveryOutcome): Promise<void>
  /**
   * Parks a slice of the waiting deliveries of a target, the oldest first, except the given ids. Returns the number of parked
   * ones, and the conversations of batches among them. `which`: those queued before a time, or those beyond the bounds.
   */
  park(
    target: string,
    parking: {
      which: { queuedBefore: string } | { atMost: number; maxBytes: number }
      at: string
      reason: string
      except: readonly string[]
    },
  ): Promise<{ parked: number; batches: ConversationId[] }>
  /**
   * Inserts the next batch of events of a conversation, unless the previous one is still pending (`isBusy`).
   * `left`: number of events that still wait.
   */
  cut(
    target: string,
    id: ConversationId,
    limits: BatchLimits,
  ): Promise<{ isCut: boolean; isBusy: boolean; left: number }>
  /** Conversations with events that are in no batch yet. */
  behind(target: string): Promise<ConversationId[]>
  /** Deliveries, newest first. `after`: id of the last delivery of the previous page; an unknown id starts at the beginning. */
  list(query: {
    status?: DeliveryStatus
    limit: number
    after?: string
  }): Promise<{ items: Delivery[]; next: string | null }>
  /** Queues a parked or acknowledged delivery again. `gone`: its body or its target no longer exists; `pending`: it has not finished. */
  redeliver(id: string): Promise<'queued' | 'unknown' | 'gone' | 'pending'>
  /** Deletes a slice of the old acknowledged and parked deliveries. Returns their number. */
  prune(bounds: {
    deliveredBefore: string
    parkedBefore: string
    maxDelivered: number
    maxParked: number
  }): Promise<number>
}

/** A conversation that another server has reported. */
export type ReceivedRow = {
  id: ConversationId
  owner: string
  created_at: string
  updated_at: string
  /** Time according to the sender, if it sent one; a report with an earlier time is older. */
  sent_at: string | null
  status: ConversationExecutionStatus
  parent_conversation_id: ConversationId | null
  info: SealedJson
}

/** One item of a listing of own and received conversations. */
export type ListedRow = ({ origin: 'own' } & ConversationRow) | ({ origin: 'received' } & ReceivedRow)

/** A received event, of which only the envelope is known. */
export type ReceivedEvent = { id: string; kind: string; timestamp: string; source?: string | null }

/**
 * Conversations of other servers, as reported by them, separate from our own. Each user sees those that were sent with one of the
 * user's keys, except those with the id of an own conversation of the user.
 */
export interface ReceivedStore {
  /** Inserts or replaces a row. Returns `stale`, without a change, when a newer report or removal is stored. */
  put(row: ReceivedRow): Promise<'stored' | 'stale'>
  /** Removes log and info, and records the removal, so that a late report does not restore them. */
  remove(owner: string, id: ConversationId, sentAt: string | null): Promise<void>
  get(owner: string, id: ConversationId): Promise<ReceivedRow | null>
  /** One page of own and received conversations in one order. */
  search(query: ConversationQuery): Promise<{ items: ListedRow[]; next: ConversationId | null }>
  /** Number of received conversations. */
  count(owner: string, status?: ConversationExecutionStatus): Promise<number>
  /** Appends the events that the log does not contain yet. Creates the log when the conversation itself is not known yet. */
  append(owner: string, id: ConversationId, events: readonly ReceivedEvent[]): Promise<void>
  /** The logs of a user's received conversations. */
  events(owner: string): EventStore
}

/** A user's settings as one JSON object. Changes are transactions, so that concurrent writers keep each other's members. */
export interface SettingsStore {
  get(user: string): Promise<SealedJson | null>
  /** Atomically replaces the stored value (null: none) by the result of `change`, which must be synchronous. */
  update(user: string, change: (current: SealedJson | null) => SealedJson): Promise<SealedJson>
}

export type SecretRow = {
  name: string
  description: string | null
  sealed: string
  created_at: string
  updated_at: string
}

/** Named secrets of a user; `sealed` is cipher text that the caller has made. */
export interface SecretStore {
  list(user: string): Promise<SecretRow[]>
  get(user: string, name: string): Promise<SecretRow | null>
  /** False when the name is taken. */
  create(user: string, secret: { name: string; description: string | null; sealed: string }): Promise<boolean>
  /** Inserts or replaces. */
  put(user: string, secret: { name: string; description: string | null; sealed: string }): Promise<void>
  /** Changes name and description; the value stays. `taken`: another secret has the new name. */
  rename(
    user: string,
    name: string,
    to: { name: string; description: string | null },
  ): Promise<'renamed' | 'unknown' | 'taken'>
  delete(user: string, name: string): Promise<boolean>
}

export type DocumentRow = { name: string; json: SealedJson; created_at: string; updated_at: string }

/** The documents of one user inside a transaction; an error rolls it back. */
export interface DocumentEdit {
  /** By name. */
  list(collection: string): DocumentRow[]
  get(collection: string, name: string): DocumentRow | null
  /** Inserts or replaces a document; its time of creation stays. */
  put(collection: string, name: string, json: SealedJson): void
  delete(collection: string, name: string): boolean
}

/** Small JSON objects of a user by collection and name, such as profiles. */
export interface DocumentStore {
  /** By name. */
  list(user: string, collection: string): Promise<DocumentRow[]>
  get(user: string, collection: string, name: string): Promise<DocumentRow | null>
  /** Runs `change` in one transaction, so that constraints between documents hold. `change` must be synchronous and may run twice. */
  edit<T>(user: string, change: (documents: DocumentEdit) => T): Promise<T>
}

/** A command that a user ran outside conversations, or a part of its output. */
export type BashEventRow = {
  id: string
  kind: string
  /** For an output: the id of its command. */
  command_id: string | null
  /** For an output: its index among the outputs of its command. */
  order: number | null
  /** ISO 8601, UTC, `Z`. */
  timestamp: string
  json: string
}

export type BashQuery = {
  kind?: string
  command_id?: string
  timestampGte?: string
  timestampLt?: string
  /** Only outputs with a higher index. */
  orderGt?: number
  order: 'asc' | 'desc'
  limit: number
  /** Id of the first item of the page; an unknown one starts at the beginning. */
  from?: string
}

/** Commands of users and their outputs, in the order of insertion, separate for each user. */
export interface BashStore {
  /** Stores one event, unless its id is known. A command is open until an output is stored with `closes`. */
  append(user: string, event: BashEventRow, closes?: boolean): Promise<void>
  get(user: string, id: string): Promise<BashEventRow | null>
  search(user: string, query: BashQuery): Promise<{ items: BashEventRow[]; next: string | null }>
  /** Deletes all events of a user. Returns their number. */
  clear(user: string): Promise<number>
  /** Deletes the oldest events beyond these bounds, except those of open commands. Returns their number. */
  prune(user: string, bounds: { atMost: number; maxBytes: number }): Promise<number>
  /** Commands without a last output. */
  open(): Promise<{ user: string; event: BashEventRow }[]>
}

/** A value that was sealed with the key of the store; another key does not open it. */
export interface SealTestStore {
  /** Null before the first `put`. */
  get(): Promise<string | null>
  put(sealed: string): Promise<void>
  /** Texts of secrets, settings, documents and records that contain `prefix`; a bounded number. */
  samples(prefix: string): Promise<string[]>
}

/** What the store knows of the records of calls that its data directory keeps outside of it. */
export type DataDirectory = {
  /** Id of the runner's call ledger; null before a runner was used. */
  ledger: string | null
  /** Number in the mark file of the directory. It grows with every start of a server. */
  mark: number
  /** Number that is being written to that file; null otherwise. */
  nextMark: number | null
}

/** Proof that a call which no record names never began. */
export interface CallStore {
  /** Null before the first start of a server of version 0.2 or later. */
  directory(): Promise<DataDirectory | null>
  /**
   * Stores what belongs to this store from now on. `isComplete` false: records may be missing, so every call that is stored now
   * becomes unproven, in the same transaction.
   */
  setDirectory(directory: DataDirectory, isComplete: boolean): Promise<void>
  /** Those of `calls` of a conversation, or of commands outside conversations, that are unproven. */
  unproven(conversation: ConversationId, calls: readonly string[]): Promise<Set<string>>
}

export type Role = 'admin' | 'user' | 'read-only'
export type KeyRow = {
  /** Public id. */
  id: string
  user: string
  role: Role
  /** SHA-256 of the key, hex. The key itself is never stored. */
  hash: string
  label: string | null
  created_at: string
  expires_at: string | null
  revoked_at: string | null
}

export interface KeyStore {
  create(key: Omit<KeyRow, 'created_at' | 'revoked_at'>): Promise<KeyRow>
  /** Finds a key by its hash, including revoked and expired ones. */
  find(hash: string): Promise<KeyRow | null>
  list(): Promise<KeyRow[]>
  /** Revokes a key. False for an unknown id. Revoking twice keeps the first time. */
  revoke(id: string): Promise<boolean>
}

/** One answered request: user, action and result, without any content. */
export type AuditEntry = {
  /** ISO 8601, UTC, `Z`. */
  at: string
  user: string
  key_id: string
  /** Method and pattern of the route, such as `PUT /api/secrets/{secret_id}`. */
  action: string
  conversation_id: string | null
  /** Status of the answer. */
  status: number
}
/** `id` grows with every entry. */
export type AuditRow = AuditEntry & { id: number }

export interface AuditStore {
  add(entries: readonly AuditEntry[]): Promise<void>
  /** Entries, newest first. `after`: id of the last entry of the previous page. */
  list(query: { user?: string; limit: number; after?: number }): Promise<{ items: AuditRow[]; next: number | null }>
  /** Deletes a slice of the oldest entries beyond these bounds. Returns their number. */
  prune(bounds: { before: string; atMost: number }): Promise<number>
}

export interface Storage extends AsyncDisposable {
  readonly conversations: ConversationStore
  readonly events: EventStore
  readonly outbox: OutboxStore
  readonly received: ReceivedStore
  readonly settings: SettingsStore
  readonly secrets: SecretStore
  readonly documents: DocumentStore
  readonly bash: BashStore
  readonly calls: CallStore
  readonly keys: KeyStore
  readonly audit: AuditStore
  readonly sealTest: SealTestStore
}
