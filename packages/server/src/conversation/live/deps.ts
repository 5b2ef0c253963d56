import type { AgentBase, ConversationId, LLM } from '@parley/protocol'
import type { Agent } from '../../agent/index.ts'
import type { Masker } from '../../secrets/index.ts'
import type { ClientCalls } from '../../tools/index.ts'
import type { ClientCallBoard } from './client-calls.ts'
import type { OpenHooks } from './hooked.ts'
import type { LogDeps } from '../log/live-log.ts'
import type { ConversationRecord, SecretSources } from '../record/record.ts'
import type { RunDeps } from '../run/running.ts'
import type { Phase } from '../start/phases/index.ts'
import type { OwnSubAgents } from '../sub-agents/index.ts'
import type { TitleDeps } from '../titles/title.ts'

/** The conversation that an agent is opened for. */
export type OpenedFor = {
  id: ConversationId
  owner: string
  record: ConversationRecord
  epoch: number
  /** The conversation's secrets as they are now. */
  secrets: () => SecretSources
  /** The record as it is now. */
  current: () => ConversationRecord
  /** What its tools may ask of sub-agents. */
  subAgents?: OwnSubAgents
  /** What its client's tools wait with. */
  clientCalls?: ClientCalls
}

/** What every conversation in memory is given from outside. */
export type LiveDeps = Pick<TitleDeps, 'openLlm' | 'findLlm'> &
  LogDeps &
  RunDeps & {
    openAgent: (live: OpenedFor, signal: AbortSignal) => Promise<Agent>
    /** The model that judges goals. Absent: the agent's own. @throws ParleyError `bad_request` when there is none. */
    judgeModel?: (owner: string, agent: AgentBase) => Promise<LLM>
    /** Hides in texts what `mask` hides in drafts. Absent: nothing. */
    masker?: (owner: string, record: ConversationRecord) => Promise<Masker>
    /** Takes what clients made of calls. Absent: nobody waits for that. */
    clientCalls?: ClientCallBoard
    /** Told of calls whose answers are durable. */
    onAnswered?: (id: ConversationId, callIds: readonly string[]) => void
    /** Absent: hooks cannot run, and a conversation that has some says so. */
    openHooks?: OpenHooks
    /** Phases of a start before the agent itself, in order. */
    phases: readonly Phase[]
    /** Milliseconds that opening the agent may take during a start. */
    agentDeadlineMs?: number
    onActivity: () => void
  }
