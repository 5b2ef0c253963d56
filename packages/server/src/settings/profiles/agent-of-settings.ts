/** Conversion of agent settings to the agent of a conversation. Pure. Source: agent-core.md 12.6, 12.7. */
import {
  AgentBase,
  AgentContext,
  AgentSettings,
  APIBasedCritic,
  type CondenserSettings,
  invalidInput,
  type LLM,
  type VerificationSettings,
} from '@parley/protocol'
import { SERVER_CREDENTIAL } from '../../secrets/index.ts'
import { unfit } from '../stored.ts'
import { acpServerOf } from './acp-servers.ts'

/** Tools of an agent with this model whose settings name none. */
export type ToolsFor = (llm: LLM) => readonly { name: string }[]

/**
 * Settings of a request; an absent kind selects the native agent, and `llm` is its old name.
 * @throws ParleyError `invalid_input` naming the members that do not fit.
 */
export function readAgentSettings(record: Readonly<Record<string, unknown>>): AgentSettings {
  const { agent_kind = 'openhands' } = record
  const value = { ...record, agent_kind: agent_kind === 'llm' ? 'openhands' : agent_kind }
  const result = AgentSettings.safeParse(value)
  if (result.success) return result.data
  throw unfit(AgentSettings, value)
}

/** @throws ParleyError `invalid_input` for settings that describe no agent. */
export function agentOfSettings(settings: AgentSettings, toolsFor: ToolsFor): AgentBase {
  const made = AgentBase.safeParse(settings.agent_kind === 'acp' ? acpAgent(settings) : nativeAgent(settings, toolsFor))
  if (made.success) return made.data
  const reasons = made.error.issues.map(({ path, message }) => [...path, message].join(': '))
  throw invalidInput(`These settings make no agent: ${reasons.join('; ')}`)
}

type Native = Extract<AgentSettings, { agent_kind: 'openhands' }>
type Acp = Extract<AgentSettings, { agent_kind: 'acp' }>

const nativeAgent = ({ llm, tools, condenser, verification, ...settings }: Native, toolsFor: ToolsFor) => ({
  kind: 'Agent',
  llm,
  tools: tools ?? [...toolsFor(llm), ...(settings.enable_sub_agents ? [{ name: 'task_tool_set' }] : [])],
  mcp_config: settings.mcp_config,
  agent_context: settings.agent_context,
  condenser: condenserOf(condenser, llm),
  critic: criticOf(verification, llm),
  tool_concurrency_limit: settings.tool_concurrency_limit,
  include_default_tools: ['FinishTool', 'ThinkTool', ...(settings.enable_switch_llm_tool ? ['SwitchLLMTool'] : [])],
})

function acpAgent({ acp_command, llm: _llm, agent_kind: _kind, ...settings }: Acp) {
  const command = acp_command.length > 0 ? acp_command : acpServerOf(settings.acp_server)?.command
  if (command === undefined)
    throw invalidInput('acp_server "custom" needs an acp_command that starts it', ['acp_command'])
  return { kind: 'ACPAgent', ...settings, acp_command: command }
}

function condenserOf({ enabled, condenser_kind, ...shape }: CondenserSettings, llm: LLM) {
  return enabled && condenser_kind !== 'no_op'
    ? { kind: 'LLMSummarizingCondenser', ...shape, llm: { ...llm, usage_id: 'condenser' } }
    : null
}

/**
 * The critic's server gets the critic's own key. It gets the model's key only when the user named that server, or the model is
 * on that server too: a key goes only to servers that its owner named. The key of this server goes to no critic. Source: agent-core.md 12.7.
 * @throws ParleyError `invalid_input` when it is enabled and there is no key for it.
 */
function criticOf(verification: VerificationSettings, llm: LLM) {
  const { critic_enabled, critic_mode, critic_server_url, critic_model_name } = verification
  if (!critic_enabled) return null
  const isKnown =
    critic_server_url !== null || hostOf(llm.base_url) === hostOf(APIBasedCritic.shape.server_url.parse(undefined))
  const ownKey = llm.api_key === SERVER_CREDENTIAL ? null : llm.api_key
  const key = verification.critic_api_key ?? (isKnown ? ownKey : null)
  if (key === null)
    throw invalidInput(
      'critic_enabled needs critic_api_key, or critic_server_url and a model with an api_key of yours. Set one in verification, or disable the critic.',
      ['verification', 'critic_api_key'],
    )
  const refinement = {
    success_threshold: verification.critic_threshold,
    max_iterations: verification.max_refinement_iterations,
  }
  return {
    kind: 'APIBasedCritic',
    api_key: key,
    mode: critic_mode,
    iterative_refinement: verification.enable_iterative_refinement ? refinement : null,
    ...(critic_server_url !== null && { server_url: critic_server_url }),
    ...(critic_model_name !== null && { model_name: critic_model_name }),
  }
}

const hostOf = (url: string | null): string | null => (url !== null && URL.canParse(url) ? new URL(url).host : null)

/** The agent with a paragraph appended to the end of its system prompt. */
export function withSuffix(agent: AgentBase, paragraph: string | null | undefined): AgentBase {
  if (paragraph === null || paragraph === undefined || paragraph === '') return agent
  const context = agent.agent_context ?? AgentContext.parse({})
  const before = context.system_message_suffix
  const system_message_suffix = before === null || before === '' ? paragraph : `${before}\n\n${paragraph}`
  return { ...agent, agent_context: { ...context, system_message_suffix } }
}
