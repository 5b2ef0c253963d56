/** Joins an agent to the models that its owner has saved: to become one of them, and to see through one. Source: agent-core.md 8.6. */
import { ParleyError, type Agent, type ConversationId } from '@parley/protocol'
import type { SeeingProfile } from '../agent/index.ts'
import type { Actor, Conversations } from '../conversation/index.ts'
import { featuresOf } from '../llm/index.ts'
import type { FindLlm } from '../settings/index.ts'
import type { ModelService } from '../tools/index.ts'

export type AgentModelsDeps = {
  findLlm: FindLlm
  /** Names of the owner's profiles. */
  profileNames: (owner: string) => Promise<string[]>
  conversations: () => Pick<Conversations, 'send'>
}

export type AgentModels = { models: ModelService; seeing: () => Promise<SeeingProfile[]> }

/** Class name of the tool that asks about images. */
const VISION = 'VisionInspectTool'

export function agentModels(
  id: ConversationId,
  owner: string,
  { findLlm, profileNames, conversations }: AgentModelsDeps,
): AgentModels {
  const actor: Actor = { user: owner, role: 'user', keyId: 'agent' }
  return {
    models: {
      async switchTo(profile) {
        const found = await findLlm(owner, profile)
        if (found === null) throw new ParleyError('not_found', await unknownProfile(profile, owner))
        const llm = { ...found, usage_id: `profile:${profile}` }
        await conversations().send(id, { kind: 'switch_llm', llm }, actor)
        return llm.model
      },
    },
    async seeing() {
      const names = await profileNames(owner)
      const found = await Promise.all(
        names.map(async (name) => ({ name, llm: await findLlm(owner, name).catch(() => null) })),
      )
      return found.flatMap(({ name, llm }) => (llm !== null && featuresOf(llm).vision ? [{ name, llm }] : []))
    },
  }

  async function unknownProfile(profile: string, user: string): Promise<string> {
    const names = (await profileNames(user)).map((name) => `'${name}'`)
    const known = names.length === 0 ? 'none is saved' : `saved are ${names.join(', ')}`
    return `There is no profile '${profile}'; ${known}.`
  }
}

/** The agent with eyes, when its model has none and a saved profile has. Looks nothing up for a model that sees. */
export async function withEyes(agent: Agent, seeing: AgentModels['seeing']): Promise<Agent> {
  if (featuresOf(agent.llm).vision || agent.include_default_tools.includes(VISION)) return agent
  if ((await seeing()).length === 0) return agent
  return { ...agent, include_default_tools: [...agent.include_default_tools, VISION] }
}
