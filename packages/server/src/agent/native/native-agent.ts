/** The agent that is our own loop: model, tools, gateway. */
import type { Agent as AgentConfig, ConversationId, Draft, ClientToolSpec } from '@parley/protocol'
import { ParleyError, textContent } from '@parley/protocol'
import { featuresOf, type LlmTool, type OpenLlm } from '../../llm/index.ts'
import type { Workspace } from '../../workspace/index.ts'
import { createTools, flatten, withPredictedFields, type Locks, type Tool, type ToolServices } from '../../tools/index.ts'
import type { Agent } from '../agent.ts'
import { openCondenser, TokenMeter } from '../condenser/index.ts'
import type { Analyze } from '../../security/index.ts'
import { Gateway, type Log, type ToolHooks } from '../gateway.ts'
import { ask } from './ask.ts'
import { execute } from './execute.ts'
import { MessageBuilder } from './messages.ts'
import { recover } from './recover.ts'
import { condense, type Shortener } from './shorten.ts'
import { dynamicPrompt, staticPrompt } from './system-prompt.ts'
import { think, type Thinker } from './think.ts'

/** Bucket of what questions beside the conversation cost. Source: agent-core.md 3.8. */
const ASK_USAGE_ID = 'ask-agent-llm'

export type NativeAgentDeps = {
  conversationId: ConversationId
  openLlm: OpenLlm
  workspace: Workspace
  /** A folder of the conversation outside the workspace; created when first used. */
  dataDir: string
  /** Shared by all agents of the process. */
  locks: Locks
  log: Log
  /** Names of the secrets that a command may use, told to the model. Absent: none. */
  secrets?: readonly { name: string; description: string | null }[]
  /** Values of the secrets that a text names. Absent: none. */
  secretsFor?: (text: string) => Promise<Record<string, string>>
  /** What tools may ask of the rest of the server. */
  services?: ToolServices
  /** Absent: every risk is UNKNOWN. */
  analyze?: Analyze
  hooks?: ToolHooks
  /** Declared by the client of the conversation. */
  clientTools?: readonly ClientToolSpec[]
  /** Whether the model is really asked now, and not a recording of it. Absent: always. */
  isAsked?: () => boolean
  now?: () => Date
}

/**
 * An agent for one conversation. Starts nothing: the model's provider is loaded with the first question.
 * @throws ParleyError `invalid_input` or `unsupported` when the configuration names what does not exist.
 */
export function createNativeAgent(initial: AgentConfig, deps: NativeAgentDeps): Agent {
  const { workspace, conversationId, dataDir, locks, log, analyze, hooks } = deps
  let config = initial
  const tools = createTools({ ...config, client_tools: deps.clientTools ?? [] })
  const gateway = new Gateway({
    conversationId,
    tools,
    workspace,
    dataDir,
    locks,
    log,
    secretsFor: deps.secretsFor ?? (() => Promise.resolve({})),
    ...(analyze === undefined ? {} : { analyze }),
    ...(hooks === undefined ? {} : { hooks }),
    ...(deps.services === undefined ? {} : { services: deps.services }),
  })
  const offered = [...tools.values()].map(shown)
  const thinkerOf = (of: AgentConfig): Thinker => ({
    llm: deps.openLlm(of.llm),
    gateway,
    messages: new MessageBuilder(),
    tools: offered,
    shortener: shortenerOf(of, offered, deps),
    seesImages: featuresOf(of.llm).vision,
    isAsked: deps.isAsked ?? (() => true),
  })
  let thinker = thinkerOf(config)
  const limit = config.tool_concurrency_limit
  const basePrompt = staticPrompt(config)

  return {
    preamble: () => {
      const surroundings = {
        workingDir: workspace.workingDir,
        secrets: deps.secrets ?? [],
        now: deps.now?.() ?? new Date(),
      }
      const prompt: Draft = {
        kind: 'SystemPromptEvent',
        source: 'agent',
        system_prompt: textContent(basePrompt),
        tools: [...tools.values()].map(({ definition }) => definition),
        dynamic_context: textContent(dynamicPrompt(config, surroundings)),
      }
      return [prompt]
    },
    think: (turn, signal) => think(thinker, turn, signal),
    execute: (actions, turn, signal) => execute(actions, gateway, limit, turn, signal),
    recover: (actions, turn, signal) => recover(actions, { gateway, workspace, limit }, turn, signal),
    condense: (turn, signal) => {
      const { shortener } = thinker
      if (shortener === null) throw new ParleyError('bad_request', 'The agent has no condenser.')
      return condense(shortener, turn, signal)
    },
    ask: (question, turn, signal) => {
      const llm = deps.openLlm({ ...config.llm, stream: false, usage_id: ASK_USAGE_ID })
      return ask({ llm, tools: offered }, question, turn, signal)
    },
    reconfigure: (next) => {
      config = next
      thinker = thinkerOf(next)
    },
    interrupt: () => workspace.interrupt(),
    async [Symbol.asyncDispose]() {
      for (const tool of tools.values()) {
        await tool[Symbol.asyncDispose]?.().catch((error: unknown) =>
          log.warn({ tool: tool.name, err: error }, 'closing a tool failed'),
        )
      }
      await workspace[Symbol.asyncDispose]()
    },
  }
}

function shortenerOf(
  { condenser, llm }: AgentConfig,
  tools: readonly LlmTool[],
  { openLlm, log }: NativeAgentDeps,
): Shortener | null {
  if (condenser === null) return null
  return {
    condenser: openCondenser(condenser, { openLlm, log, agentUsageId: llm.usage_id }),
    meter: new TokenMeter(tools),
    llm,
  }
}

/**
 * Checks what an agent's configuration names, without opening anything.
 * @throws ParleyError `invalid_input` or `unsupported`.
 */
export function resolveTools(config: AgentConfig, clientTools: readonly ClientToolSpec[] = []): void {
  createTools({ ...config, client_tools: clientTools })
  staticPrompt(config)
}

/** Schemas that others wrote reach the model as they are; only the two predicted fields are laid over them. */
function shown({ name, definition, parameters, isReadOnly }: Tool): LlmTool {
  const isForeign = definition.kind === 'ClientTool' || definition.kind === 'MCPToolDefinition'
  const schema = isForeign ? parameters : flatten(parameters)
  return { name, description: definition.description, parameters: withPredictedFields(schema, isReadOnly) }
}
