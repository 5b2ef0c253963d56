/** The agent of a start request, given directly, by settings or by profile. Source: agent-core.md 12.4. */
import { AgentBase, type LaunchedAgentProfile, type StartConversationRequest } from '@parley/protocol'
import type { Cipher } from '../../secrets/index.ts'
import { decrypted } from '../settings.ts'
import { asJson } from '../stored.ts'
import { agentOfSettings, readAgentSettings, withSuffix } from './agent-of-settings.ts'
import type { AgentProfiles } from './agent-profiles.ts'

export type LaunchRequest = Pick<
  StartConversationRequest,
  'agent' | 'agent_settings' | 'agent_profile_id' | 'agent_launch_additions' | 'secrets_encrypted'
>

export type LaunchedAgent = { agent: AgentBase; launched: LaunchedAgentProfile | null }

/**
 * `agent` takes precedence over `agent_settings`; additions apply last.
 * @throws ParleyError `not_found` for an unknown profile, `invalid_input`.
 */
export async function launchAgent(
  user: string,
  request: LaunchRequest,
  { profiles, cipher }: { profiles: AgentProfiles; cipher: Cipher },
): Promise<LaunchedAgent> {
  const { agent, launched } = await resolve(user, request, profiles, cipher)
  return { agent: withSuffix(agent, request.agent_launch_additions?.system_message_suffix_append), launched }
}

async function resolve(
  user: string,
  request: LaunchRequest,
  profiles: AgentProfiles,
  cipher: Cipher,
): Promise<LaunchedAgent> {
  const { agent, agent_settings, agent_profile_id, secrets_encrypted } = request
  if (agent_profile_id !== null) {
    const { settings, launched } = await profiles.launch(user, agent_profile_id)
    return { agent: agentOfSettings(settings), launched }
  }
  if (agent !== null) {
    const opened = secrets_encrypted ? AgentBase.parse(decrypted(asJson(agent), cipher)) : agent
    return { agent: opened, launched: null }
  }
  const record = asJson(agent_settings ?? {})
  const settings = readAgentSettings(secrets_encrypted ? decrypted(record, cipher) : record)
  return { agent: agentOfSettings(settings), launched: null }
}
