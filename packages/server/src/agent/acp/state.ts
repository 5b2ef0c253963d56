/** Facts about an external agent's session that are stored in `agent_state`, so that they survive a restart. Source: agent-core.md 11.3, 11.5. */
import { ACPModelInfo, type ConversationState, type Draft } from '@parley/protocol'
import { z } from 'zod'

const maybe = () => z.string().nullable().default(null).catch(null)

const AcpState = z.object({
  /** The conversation that the session belongs to: a fork needs its own session. */
  acp_conversation_id: maybe(),
  acp_agent_name: maybe(),
  acp_agent_version: maybe(),
  /** Sealed, because the id is enough to take over the session. */
  acp_session_id: maybe(),
  acp_session_cwd: maybe(),
  acp_supports_runtime_model_switch: z.boolean().default(false).catch(false),
  acp_model_via_config_option: z.boolean().default(false).catch(false),
  acp_current_model_id: maybe(),
  acp_available_models: z.array(ACPModelInfo).default([]).catch([]),
  /** True when the session has received the agent's context. */
  acp_suffix_installed: z.boolean().default(false).catch(false),
  /** The message of the latest prompt. */
  acp_last_prompt_user_message_id: maybe(),
  /** The message of a prompt that has not been answered; null: none. */
  acp_inflight_prompt_user_message_id: maybe(),
  /** Fingerprint of a named session that the agent could not resume. */
  acp_refused_session: maybe(),
  /** US dollars of the whole session, as last reported. */
  acp_session_cost: z.number().default(0).catch(0),
})
export type AcpState = z.infer<typeof AcpState>

/** Members of one session, reset for a new one. */
export const NO_SESSION: Partial<AcpState> = {
  acp_session_id: null,
  acp_session_cwd: null,
  acp_current_model_id: null,
  acp_available_models: [],
  acp_suffix_installed: false,
  acp_last_prompt_user_message_id: null,
  acp_session_cost: 0,
}

/** Reads the session facts; other members of `agent_state` are ignored. */
export const readState = ({ agent_state }: Pick<ConversationState, 'agent_state'>): AcpState =>
  AcpState.parse(agent_state)

/** Draft that changes these members; null when nothing would change. */
export function stateChange(state: ConversationState, change: Partial<AcpState>): Draft | null {
  const value = { ...state.agent_state, ...change }
  if (JSON.stringify(value) === JSON.stringify(state.agent_state)) return null
  return { kind: 'StateChangedEvent', source: 'environment', key: 'agent_state', value }
}
