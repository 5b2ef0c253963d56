/**
 * What a store must do. Interchangeable: one contract suite (`test/storage/contract.ts`) runs on every kind.
 *
 * Invariants
 *   S1. `seq` is dense per conversation and starts at 1.
 *   S2. An append is one durable transaction: events, row, cached state, outbox — all or nothing.
 *   S3. An append with an old epoch or another `expectedSeq` changes nothing and is refused.
 *   S4. A resolved append survives power loss.
 *   S5. A page costs the same at either end of a log of any length.
 */
import type { ConversationExecutionStatus, ConversationId, EventId, StoredEvent } from '@parley/protocol'

/** What does not come from events, as JSON text whose secrets are already sealed by the caller. */
export type SealedJson = string

/** The searchable columns of a conversation; everything else is inside `record` and `state`. */
export type ConversationRow = {
  id: ConversationId
  /** The user that the conversation belongs to. */
  owner: string
  /** ISO 8601, UTC, `Z`. */
  created_at: string
  updated_at: string
  /** The newest `seq`; 0 for an empty log. */
  seq: number
  /** Who may append: the number handed out by the newest `own`. */
  epoch: number
  status: ConversationExecutionStatus
  parent_conversation_id: ConversationId | null
  record: SealedJson
}

export type CachedState = { seq: number; json: SealedJson }

/** A notification to be written with the commit that causes it; dropped when no target is set (see `OutboxStore`). */
export type OutboxDraft = { topic: string; payload: string }

export type NewConversation = Omit<ConversationRow, 'seq' | 'epoch'> & {
  /** Events that the log starts with (a fork's copied branch); their `seq` runs from 1. */
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
  /** Columns to change with it. */
  row?: Partial<Pick<ConversationRow, 'status' | 'updated_at' | 'record'>>
  /** A newer cached fold, when it is time for one. */
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

export type EventPage = {
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
  /** `exists` when the id is taken; nothing changes then. */
  create(conversation: NewConversation): Promise<'created' | 'exists'>
  get(id: ConversationId): Promise<ConversationRow | null>
  /** Several rows in the order asked; null for an unknown id. */
  getMany(ids: readonly ConversationId[]): Promise<(ConversationRow | null)[]>
  search(query: ConversationQuery): Promise<{ items: ConversationRow[]; next: ConversationId | null }>
  count(owner: string, status?: ConversationExecutionStatus): Promise<number>
  /** Ids of conversations whose stored status is `running`: what a start-up takes over. */
  running(): Promise<ConversationId[]>
  /** Ids of conversations of the same owner that name this one as parent. */
  children(id: ConversationId): Promise<ConversationId[]>
  /** The cached folds of several conversations, for reading only; null where there is none. */
  states(ids: readonly ConversationId[]): Promise<(CachedState | null)[]>
  /** Raises the epoch, so that every earlier owner is refused, and returns what a fold needs. Null for an unknown id. */
  own(id: ConversationId): Promise<{ row: ConversationRow; state: CachedState | null } | null>
  /**
   * Appends in one durable transaction; appends that wait in one turn of the event loop share a commit.
   * @throws ParleyError `conflict` with `details.reason` `epoch` or `seq`; nothing has changed then.
   */
  append(append: Append): Promise<void>
  /** Removes log, row, cached state, and writes the outbox rows with it. False for an unknown id. */
  delete(id: ConversationId, outbox?: readonly OutboxDraft[]): Promise<boolean>
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

/** Somebody who is told what happens. */
export type OutboxTarget = {
  /** What deliveries are stored under; the same one finds its deliveries again after a restart. */
  name: string
  /** Whether the events of the logs go there too, in batches. */
  events: boolean
}

export type DeliveryStatus = 'pending' | 'delivered' | 'parked'

/** One notification, or one batch of events, on its way to one target. */
export type Delivery = {
  /** Never changes, and is never given to another one. */
  id: string
  target: string
  conversation_id: ConversationId
  /** Deliveries of one lane, that is of one target, conversation and kind, go one after another in the order they were written. */
  kind: 'notification' | 'events'
  topic: string
  /** Of a notification: its place among those of its conversation, dense from 1. Of a batch: the seq of its first event. */
  sequence: number
  status: DeliveryStatus
  created_at: string
  /** Attempts that reached the target, since it was written or was last sent for again. */
  attempts: number
  first_attempt_at: string | null
  /** Null while an earlier one of its lane is under way, and once it is over. */
  next_attempt_at: string | null
  /** Of the newest answer; null when there was none. */
  last_status: number | null
  last_error: string | null
  /** When it was acknowledged or parked. */
  finished_at: string | null
}

export type DeliveryBody =
  | { kind: 'notification'; payload: string }
  | { kind: 'events'; events: readonly StoredEvent[] }

/** What came of an attempt. */
export type DeliveryOutcome = {
  at: string
  last_status: number | null
  last_error: string | null
  /** False: there was nobody to send it to, which does not count as an attempt. Default true. */
  isSent?: boolean
} & ({ status: 'delivered' | 'parked' } | { status: 'pending'; next_attempt_at: string })

/** What a commit has left to deliver. */
export type OutboxChange = {
  conversation_id: ConversationId
  /** Deliveries that may be due now. */
  deliveries: boolean
  /** Events appended to a log that a target follows. */
  events: number
  /** The conversation is gone: what is left of its log can go at once. */
  isOver: boolean
}

export type BatchLimits = {
  /** Cut nothing while fewer events than this wait, unless the conversation is over. */
  atLeast: number
  atMost: number
  /** Bytes of stored events; one that is larger goes alone. */
  maxBytes: number
}

/**
 * Deliveries and how far they have come. A target follows a log from the first append after it was set, and misses nothing
 * from then on: a log outlives its conversation until all targets have it.
 */
export interface OutboxStore {
  /**
   * Who is told of commits from now on; nothing is written before the first call, or with none. Deliveries under way to a
   * target that is left out are parked, and what it had followed is forgotten.
   */
  setTargets(targets: readonly OutboxTarget[]): Promise<void>
  /** Calls `listener` after each commit of this process that left something to deliver; ends with what it returns. */
  subscribe(listener: (change: OutboxChange) => void): () => void
  /** The first deliveries of their lanes whose time has come at `now`, the longest waiting first. */
  due(target: string, now: string, limit: number): Promise<Delivery[]>
  /** When the next one after `now` comes to be due; null when none waits. */
  nextDue(target: string, now: string): Promise<string | null>
  /** Null when what it carried is gone. */
  body(id: string): Promise<DeliveryBody | null>
  /** Records an attempt. When it ends the delivery, the next one of its lane is due at once. */
  record(id: string, outcome: DeliveryOutcome): Promise<void>
  /**
   * Makes the next batch of events of a conversation, unless the one before is still under way (`isBusy`).
   * `left`: events that wait after it.
   */
  cut(
    target: string,
    id: ConversationId,
    limits: BatchLimits,
  ): Promise<{ isCut: boolean; isBusy: boolean; left: number }>
  /** Conversations with events that are in no batch yet. */
  behind(target: string): Promise<ConversationId[]>
  /** Newest first. `after`: the id of the last one seen; an unknown one starts at the beginning. */
  list(query: {
    status?: DeliveryStatus
    limit: number
    after?: string
  }): Promise<{ items: Delivery[]; next: string | null }>
  /** Sends a delivery again that was parked or acknowledged. `gone`: what it carried, or its target, is no more; `pending`: it is under way. */
  redeliver(id: string): Promise<'queued' | 'unknown' | 'gone' | 'pending'>
  /** Forgets old acknowledged and parked ones, a slice at a time; how many. */
  prune(bounds: { deliveredBefore: string; parkedBefore: string; maxDelivered: number }): Promise<number>
}

/** A conversation that another server told of. */
export type ReceivedRow = {
  id: ConversationId
  owner: string
  created_at: string
  updated_at: string
  /** What the sender said, if it did: a message that says an earlier time is older. */
  sent_at: string | null
  status: ConversationExecutionStatus
  parent_conversation_id: ConversationId | null
  info: SealedJson
}

/** One item of a listing of both kinds. */
export type ListedRow = ({ origin: 'own' } & ConversationRow) | ({ origin: 'received' } & ReceivedRow)

/** A received event: nothing is known about it but its envelope. */
export type ReceivedEvent = { id: string; kind: string; timestamp: string; source?: string | null }

/**
 * Conversations of other servers as they told of them, beside our own and never mixed up with them: each user has those that
 * were sent with a key of theirs. One whose id that user has a conversation of their own under is not shown.
 */
export interface ReceivedStore {
  /** Inserts or replaces. `stale` when a newer one is known, also of its removal; nothing changes then. */
  put(row: ReceivedRow): Promise<'stored' | 'stale'>
  /** Removes log and info, and remembers it, so that what comes late does not bring it back. */
  remove(owner: string, id: ConversationId, sentAt: string | null): Promise<void>
  get(owner: string, id: ConversationId): Promise<ReceivedRow | null>
  /** One page of own and received conversations in one order. */
  search(query: ConversationQuery): Promise<{ items: ListedRow[]; next: ConversationId | null }>
  /** Received ones only. */
  count(owner: string, status?: ConversationExecutionStatus): Promise<number>
  /** Adds events at the end of the log, those it holds already left out, also before the conversation itself is known. */
  append(owner: string, id: ConversationId, events: readonly ReceivedEvent[]): Promise<void>
  /** The logs of a user's received conversations. */
  events(owner: string): EventStore
}

/** A user's settings as one JSON object; changed under a transaction, so two writers never lose each other's members. */
export interface SettingsStore {
  get(user: string): Promise<SealedJson | null>
  /** Runs `change` on the stored value (null when none) and stores its result, atomically. `change` must be synchronous. */
  update(user: string, change: (current: SealedJson | null) => SealedJson): Promise<SealedJson>
}

export type SecretRow = {
  name: string
  description: string | null
  sealed: string
  created_at: string
  updated_at: string
}

/** Named secrets of a user; `sealed` is cipher text made above this room. */
export interface SecretStore {
  list(user: string): Promise<SecretRow[]>
  get(user: string, name: string): Promise<SecretRow | null>
  /** False when the name is taken. */
  create(user: string, secret: { name: string; description: string | null; sealed: string }): Promise<boolean>
  /** Inserts or replaces. */
  put(user: string, secret: { name: string; description: string | null; sealed: string }): Promise<void>
  /** Renames and describes; the value stays. `taken` when another secret has the new name. */
  rename(
    user: string,
    name: string,
    to: { name: string; description: string | null },
  ): Promise<'renamed' | 'unknown' | 'taken'>
  delete(user: string, name: string): Promise<boolean>
}

export type DocumentRow = { name: string; json: SealedJson; created_at: string; updated_at: string }

/** The documents of one user inside a transaction; what throws there changes nothing. */
export interface DocumentEdit {
  /** By name. */
  list(collection: string): DocumentRow[]
  get(collection: string, name: string): DocumentRow | null
  /** Inserts or replaces; the time of creation stays. */
  put(collection: string, name: string, json: SealedJson): void
  delete(collection: string, name: string): boolean
}

/** Small JSON objects of a user by collection and name: profiles and the like. */
export interface DocumentStore {
  /** By name. */
  list(user: string, collection: string): Promise<DocumentRow[]>
  get(user: string, collection: string, name: string): Promise<DocumentRow | null>
  /** Runs `change` in one transaction, so that rules between documents hold. `change` must be synchronous and may run twice. */
  edit<T>(user: string, change: (documents: DocumentEdit) => T): Promise<T>
}

/** A command that somebody ran outside a conversation, or a part of its output. */
export type BashEventRow = {
  id: string
  kind: string
  /** Of an output. */
  command_id: string | null
  /** Place of an output among those of its command, from 0. */
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
  /** Leaves out outputs up to this place. */
  orderGt?: number
  order: 'asc' | 'desc'
  limit: number
  /** Id of the first item of the page; an unknown one starts at the beginning. */
  from?: string
}

/** Commands of users and what they printed, in the order they were stored. Nobody sees another user's. */
export interface BashStore {
  /** Stores one event, unless its id is known. A command is open until an output is stored with `closes`. */
  append(user: string, event: BashEventRow, closes?: boolean): Promise<void>
  get(user: string, id: string): Promise<BashEventRow | null>
  search(user: string, query: BashQuery): Promise<{ items: BashEventRow[]; next: string | null }>
  /** How many there were. */
  clear(user: string): Promise<number>
  /** Forgets the oldest events beyond these bounds, open commands excepted; how many. */
  prune(user: string, bounds: { atMost: number; maxBytes: number }): Promise<number>
  /** Commands that have no last output yet. */
  open(): Promise<{ user: string; event: BashEventRow }[]>
}

export type Role = 'admin' | 'user' | 'read-only'
export type KeyRow = {
  /** Public id, shown in lists. */
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
  /** By hash; revoked and expired ones included: the caller decides. */
  find(hash: string): Promise<KeyRow | null>
  list(): Promise<KeyRow[]>
  /** False for an unknown id. Revoking twice keeps the first time. */
  revoke(id: string): Promise<boolean>
}

/** Who did what, and what came of it; never what was said. */
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
  /** Newest first. `after`: the id of the last one seen. */
  list(query: { user?: string; limit: number; after?: number }): Promise<{ items: AuditRow[]; next: number | null }>
  /** Forgets the oldest beyond these bounds, a slice at a time; how many. */
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
  readonly keys: KeyStore
  readonly audit: AuditStore
}
