import type { ConversationState, TreeEvent } from '@parley/protocol'
import type { LlmRequest, LlmTool } from '../../llm/index.ts'
import type { StepContext } from '../agent.ts'
import type { ToolGateway } from '../gateway/tool-gateway.ts'
import type { MessageBuilder } from '../view/messages.ts'
import { withReferences } from './vision.ts'

export type AgentRequestDeps = {
  gateway: Pick<ToolGateway, 'originOf'>
  messages: MessageBuilder
  tools: readonly LlmTool[]
  /** True when images may be sent. */
  seesImages: boolean
  /** True when the agent can have another model describe images. */
  hasVisionTool: boolean
}

/** The agent's request to its model for a view. */
export function agentRequest(deps: AgentRequestDeps, view: readonly TreeEvent[], context: StepContext): LlmRequest {
  const state = context.state()
  const built = deps.messages.build(view, state.left_out)
  return {
    messages: deps.seesImages || !deps.hasVisionTool ? built : withReferences(built, view),
    tools: offeredNow(deps, state),
    cacheKey: context.cacheKey ?? context.conversationId,
  }
}

/** The tools without those that a server refused. */
function offeredNow({ tools, gateway }: AgentRequestDeps, { left_out }: ConversationState): readonly LlmTool[] {
  const gone = left_out.flatMap((part) => (part.part === 'tool' ? [part] : []))
  if (gone.length === 0) return tools
  return tools.filter(
    ({ name }) => !gone.some((part) => part.name === name && part.origin === (gateway.originOf(name) ?? null)),
  )
}
