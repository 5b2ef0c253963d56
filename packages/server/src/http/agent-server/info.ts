/** ConversationInfo as an answer shows it. Source: agent-server-wire.md 0.1. */
import type { ConversationInfo } from '@parley/protocol'

/** Removes the agent's skills, which can be long, unless the caller asks for them. */
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
