/** What tools ask of sub-agents: conversations of their own, which work in the same directory. Source: agent-core.md 12.1. */
import type { ConversationExecutionStatus, ConversationId } from '@parley/protocol'

/** A type of sub-agent as the model is told about it. */
export type SubAgentType = { name: string; description: string; when_to_use_examples: readonly string[] }

/** How the work of a sub-agent ended. */
export type SubAgentEnd = {
  conversation_id: ConversationId
  /** Task id, or the id that the delegate was given. */
  name: string
  type: string
  status: ConversationExecutionStatus
  /** Why it stopped before it had finished; null when it finished. */
  reason: string | null
  /** Its last words, or what there is of them. */
  text: string
}

export type TaskRequest = {
  /** The id of the ActionEvent: asked again with it, the same work is attended to, and none begun. */
  callId: string
  description: string | null
  prompt: string
  type: string
  /** Task id of an earlier task of this conversation. */
  resume: string | null
}

export type SpawnRequest = { callId: string; ids: readonly string[]; types: readonly string[] }

/** One text per delegate. */
export type DelegateRequest = { callId: string; tasks: Readonly<Record<string, string>> }

/**
 * Bound to one conversation. Whoever waits here holds no place among the runs; aborting the signal stops the sub-agents too.
 * Each throws ParleyError `invalid_input` for what the model got wrong, naming what there is instead.
 */
export interface SubAgents {
  /** Has a sub-agent work on a prompt until it ends. */
  task(request: TaskRequest, signal: AbortSignal): Promise<SubAgentEnd>
  /** Makes delegates, all of them or none. An id that is taken is given to the new one. */
  spawn(request: SpawnRequest, signal: AbortSignal): Promise<void>
  /** Has delegates work, all at once; the ends in the order of the request. */
  delegate(request: DelegateRequest, signal: AbortSignal): Promise<SubAgentEnd[]>
  /** Whether a call has been taken up already, by an earlier process perhaps. */
  knows(callId: string): Promise<boolean>
}
