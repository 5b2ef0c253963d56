import type { LeftOut, TreeEvent } from '@parley/protocol'
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

/** The agent's request to its model for a view, without the parts that a server refused. */
export function agentRequest(
  deps: AgentRequestDeps,
  view: readonly TreeEvent[],
  context: StepContext,
  leftOut: readonly LeftOut[] = context.state().left_out,
): LlmRequest {
  const built = deps.messages.build(view, leftOut)
  return {
    messages: deps.seesImages || !deps.hasVisionTool ? built : withReferences(built, view),
    tools: offeredNow(deps, leftOut),
    cacheKey: context.cacheKey ?? context.conversationId,
  }
}

/** Tools as a refusal names them. */
export const namesOf = (tools: readonly LlmTool[], gateway: AgentRequestDeps['gateway']) =>
  tools.map(({ name }) => ({ name, origin: gateway.originOf(name) ?? null }))

/** The tools without those that a server refused. */
function offeredNow({ tools, gateway }: AgentRequestDeps, leftOut: readonly LeftOut[]): readonly LlmTool[] {
  const gone = leftOut.flatMap((part) => (part.part === 'tool' ? [part] : []))
  if (gone.length === 0) return tools
  return tools.filter(
    ({ name }) => !gone.some((part) => part.name === name && part.origin === (gateway.originOf(name) ?? null)),
  )
}
