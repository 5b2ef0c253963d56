/**
 * The contract of a store. One contract suite (`test/storage/contract.ts`) runs on every implementation.
 *
 * Invariants
 *   S1. `seq` is dense per conversation and starts at 1.
 *   S2. An append is one durable transaction: events, row, cached state, outbox — all or nothing.
 *   S3. An append with an old epoch or another `expectedSeq` changes nothing and is refused.
 *   S4. A resolved append survives power loss.
 *   S5. A page costs the same at both ends of a log of any length.
 *   S6. An append whose answer was lost can be repeated: with the same epoch, the same `expectedSeq` and the same event ids it is
 *       stored once, and every repetition succeeds until the log grows further.
 *   S7. Events are stored only while the version of the secrets that are masked in them is the current one.
 */
import type { KeyStore, AuditStore, UserStore } from './contract/access.ts'
import type { BashStore } from './contract/bash.ts'
import type { CallbackStore } from './contract/callbacks.ts'
import type { CheckpointStore } from './contract/checkpoints.ts'
import type { ConversationStore } from './contract/conversations.ts'
import type { CallStore, SealTestStore } from './contract/directory.ts'
import type { EventStore } from './contract/events.ts'
import type { FeedStore } from './contract/feed.ts'
import type { ConversationFileStore } from './contract/files.ts'
import type { IdempotencyStore } from './contract/idempotency.ts'
import type { LoginStore } from './contract/logins.ts'
import type { NodeStore } from './contract/nodes.ts'
import type { NoteStore } from './contract/notes.ts'
import type { OutboxStore } from './contract/outbox.ts'
import type { ReceivedStore } from './contract/received.ts'
import type { SharedStore } from './contract/shared.ts'
import type { SettingsStore, SecretStore, DocumentStore } from './contract/user-data.ts'
import type { TargetStore } from './contract/targets.ts'
import type { UsageStore } from './contract/usage.ts'
import type { WorkspaceStore } from './contract/workspaces.ts'

export interface Storage extends AsyncDisposable {
  readonly conversations: ConversationStore
  readonly events: EventStore
  readonly feed: FeedStore
  readonly outbox: OutboxStore
  readonly targets: TargetStore
  readonly received: ReceivedStore
  readonly settings: SettingsStore
  readonly secrets: SecretStore
  readonly documents: DocumentStore
  readonly bash: BashStore
  readonly calls: CallStore
  readonly nodes: NodeStore
  readonly files: ConversationFileStore
  readonly callbacks: CallbackStore
  readonly notes: NoteStore
  readonly workspaces: WorkspaceStore
  readonly checkpoints: CheckpointStore
  readonly keys: KeyStore
  readonly logins: LoginStore
  readonly users: UserStore
  readonly audit: AuditStore
  readonly idempotency: IdempotencyStore
  readonly usage: UsageStore
  readonly sealTest: SealTestStore
  /** Null: one process uses the store alone. */
  readonly shared: SharedStore | null
}
