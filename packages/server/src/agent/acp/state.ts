/** What of an external agent's session is kept in `agent_state`, so that it survives a restart. Source: agent-core.md 11.3 (11), 11.5. */
import { ACPModelInfo, type ConversationState, type Draft } from '@parley/protocol'
import { z } from 'zod'

const maybe = () => z.string().nullable().default(null).catch(null)

const AcpState = z.object({
  /** The conversation that the session belongs to: a fork has a session of its own. */
  acp_conversation_id: maybe(),
  acp_agent_name: maybe(),
  acp_agent_version: maybe(),
  /** Sealed: whoever knows it could take the session over. */
  acp_session_id: maybe(),
  acp_session_cwd: maybe(),
  acp_supports_runtime_model_switch: z.boolean().default(false).catch(false),
  acp_model_via_config_option: z.boolean().default(false).catch(false),
  acp_current_model_id: maybe(),
  acp_available_models: z.array(ACPModelInfo).default([]).catch([]),
  /** The session has been told what the agent's context says. */
  acp_suffix_installed: z.boolean().default(false).catch(false),
  /** The message that the session was asked last. */
  acp_last_prompt_user_message_id: maybe(),
  /** The message that it was being asked when this was written; null when it had answered. */
  acp_inflight_prompt_user_message_id: maybe(),
  /** A session that the agent could not take up although it was named: its fingerprint. */
  acp_refused_session: maybe(),
  /** US dollars that the session said it had cost in all, when it last said so. */
  acp_session_cost: z.number().default(0).catch(0),
})
export type AcpState = z.infer<typeof AcpState>

/** Members that belong to one session and mean nothing to another. */
export const NO_SESSION: Partial<AcpState> = {
  acp_session_id: null,
  acp_session_cwd: null,
  acp_current_model_id: null,
  acp_available_models: [],
  acp_suffix_installed: false,
  acp_last_prompt_user_message_id: null,
  acp_session_cost: 0,
}

/** What is kept; everything else in `agent_state` is left alone. */
export const readState = ({ agent_state }: Pick<ConversationState, 'agent_state'>): AcpState =>
  AcpState.parse(agent_state)

/** The draft that changes some members; null when nothing would change. */
export function stateChange(state: ConversationState, change: Partial<AcpState>): Draft | null {
  const value = { ...state.agent_state, ...change }
  if (JSON.stringify(value) === JSON.stringify(state.agent_state)) return null
  return { kind: 'StateChangedEvent', source: 'environment', key: 'agent_state', value }
}
