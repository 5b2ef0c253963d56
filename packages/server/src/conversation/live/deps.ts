import type { ConversationId } from '@parley/protocol'
import type { Agent } from '../../agent/index.ts'
import type { Masker } from '../../secrets/index.ts'
import type { ClientCalls } from '../../tools/index.ts'
import type { CompletionLogDeps } from '../completions/completion-log.ts'
import type { FileCheckpointDeps } from '../checkpoints/file-checkpoints.ts'
import type { ClientCallBoard } from './client-calls.ts'
import type { OpenHooks } from '../hooks/conversation-hooks.ts'
import type { LiveReader, ModelUser } from '../live-access.ts'
import type { LogDeps } from '../log/log-deps.ts'
import type { ConversationRecord, OwnedConversation, SecretSources } from '../record/record.ts'
import type { RunDeps } from '../run/running.ts'
import type { StartupDeps } from '../start/phases/index.ts'
import type { GoalDeps } from '../goal/rounds.ts'
import type { OwnSubAgents } from '../run/parent-link.ts'
import type { ShownBatches } from '../watch/shown-batches.ts'
import type { TitleDeps } from '../titles/title.ts'

/** The conversation that an agent is opened for. */
type OpenedFor = Pick<OwnedConversation, 'epoch' | 'record'> &
  ModelUser &
  Pick<LiveReader, 'liveOutput'> & {
    /** Returns the secrets of the conversation at the moment of the call. */
    secrets: () => SecretSources
    /** Returns the record at the moment of the call. */
    current: () => ConversationRecord
    /** The sub-agents that its tools use. */
    subAgents?: OwnSubAgents
    /** The results that tools of its client wait for. */
    clientCalls?: ClientCalls
  }

/** The dependencies of every conversation in memory. */
export type LiveDeps = Pick<TitleDeps, 'openLlm' | 'findLlm'> &
  LogDeps &
  FileCheckpointDeps &
  CompletionLogDeps &
  GoalDeps &
  StartupDeps &
  RunDeps & {
    openAgent: (opening: OpenedFor, signal: AbortSignal) => Promise<Agent>
    /** Masks in texts the values that `mask` masks in drafts. */
    masker: (owner: string, record: ConversationRecord) => Promise<Masker>
    /** Results of clients. */
    clientCalls: ClientCallBoard
    /** Called with the ids of calls whose answers are durable. */
    onAnswered: (id: ConversationId, callIds: readonly string[]) => void
    openHooks: OpenHooks
    /** The batches that clients have received. */
    shownBatches: ShownBatches
    onActivity: () => void
  }
