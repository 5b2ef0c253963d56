/** Sub-agents as a service for tools: conversations that work in the same directory. Source: agent-core.md 12.1. */
import type { ConversationExecutionStatus, ConversationId } from '@parley/protocol'

/** A type of sub-agent in the description for the model. */
export type SubAgentType = { name: string; description: string; when_to_use_examples: readonly string[] }

/** The end of a sub-agent's run. */
export type SubAgentEnd = {
  conversation_id: ConversationId
  /** Task id, or the id of the delegate. */
  name: string
  type: string
  status: ConversationExecutionStatus
  /** Why it stopped before it had finished; null when it finished. */
  reason: string | null
  /** Its final message, or the part that exists. */
  text: string
}

export type TaskRequest = {
  /** The id of the ActionEvent: a repeated request with it attaches to the same run and starts none. */
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
 * Sub-agents of one conversation. A waiting call holds no run slot; aborting the signal stops the sub-agents too.
 * Each method throws ParleyError `invalid_input` for a wrong request of the model, with the valid alternatives.
 */
export interface SubAgents {
  /** Runs a sub-agent on a prompt until it ends. */
  task(request: TaskRequest, signal: AbortSignal): Promise<SubAgentEnd>
  /** Creates delegates, all of them or none. An id in use passes to the new one. */
  spawn(request: SpawnRequest, signal: AbortSignal): Promise<void>
  /** Runs delegates in parallel; resolves to their ends in the order of the request. */
  delegate(request: DelegateRequest, signal: AbortSignal): Promise<SubAgentEnd[]>
  /** Returns true when a call was already started, possibly by an earlier process. */
  knows(callId: string): Promise<boolean>
}
