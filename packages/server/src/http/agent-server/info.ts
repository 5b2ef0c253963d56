/** ConversationInfo as an answer shows it. Source: agent-server-wire.md 0.1, include_skills. */
import type { ConversationInfo } from '@parley/protocol'

/** Without the agent's skills, which can be long, unless they are asked for. */
export function shown(info: ConversationInfo, query: { include_skills: boolean }): ConversationInfo {
  const { agent } = info
  if (
    query.include_skills ||
    !('agent_context' in agent) ||
    agent.agent_context === null ||
    agent.agent_context === undefined
  )
    return info
  return { ...info, agent: { ...agent, agent_context: { ...agent.agent_context, skills: [] } } }
}
