/** The agent that is our own loop: model, tools, gateway. */
import type { Agent as AgentConfig, ConversationId, Draft, ClientToolSpec, TreeEvent } from '@parley/protocol'
import { ParleyError, textContent } from '@parley/protocol'
import { featuresOf, type LlmTool, type OpenLlm } from '../../llm/index.ts'
import { hasChanges, type Workspace } from '../../workspace/index.ts'
import {
  createTools,
  VISION_TOOL,
  type Locks,
  type SubAgentType,
  type ToolServices,
  type ToolSource,
} from '../../tools/index.ts'
import type { Agent, Step, Turn } from '../agent.ts'
import { openCondenser, TokenMeter } from '../condenser/index.ts'
import { openJudge, refined } from '../critic/index.ts'
import type { Analyze } from '../../security/index.ts'
import { Gateway, type Log, type ToolHooks } from '../gateway.ts'
import type { PromptFiles } from '../prompts/files.ts'
import { ask } from './ask.ts'
import { changedModel, readied } from './changed-model.ts'
import { execute } from './execute.ts'
import { MessageBuilder } from './messages.ts'
import { offeredTo } from './offered.ts'
import { recover } from './recover.ts'
import { condense, type Shortener } from './shorten.ts'
import { dynamicPrompt, staticPrompt } from './system-prompt.ts'
import { withSpending } from './spending.ts'
import { think, type Thinker } from './think.ts'
import { ToolSet, withTools } from './tool-set.ts'
import { visionOf, type SeeingProfile } from './vision.ts'

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
  /** Tools that come from outside and may change. Absent: none. */
  moreTools?: ToolSource
  /** Saved profiles that see images, for the tool that asks one. Absent: none. */
  seeing?: () => Promise<readonly SeeingProfile[]>
  /** The configuration with what its model needs beside what it names, such as eyes; asked after the model was changed. Absent: as it is. */
  equip?: (config: AgentConfig) => Promise<AgentConfig>
  /** Files that the configuration names, read, or why they could not be: asked for with a prompt. Absent: it names none. */
  promptFiles?: () => PromptFiles
  /** Types of sub-agents that the model is told of. Absent: the built-in ones. */
  subAgentTypes?: readonly SubAgentType[]
  /** Whether the model is really asked now, and not a recording of it. Absent: always. */
  isAsked?: () => boolean
  now?: () => Date
}

/**
 * An agent for one conversation. Starts nothing: the model's provider is loaded with the first question.
 * @throws ParleyError `invalid_input` when the configuration names tools that do not exist; its preamble, for files.
 */
export function createNativeAgent(initial: AgentConfig, deps: NativeAgentDeps): Agent {
  const { workspace, conversationId, dataDir, locks, log, analyze, hooks } = deps
  let config = initial
  const chosen = (of: AgentConfig) =>
    createTools({ ...of, client_tools: deps.clientTools ?? [], sub_agents: deps.subAgentTypes })
  const tools = new ToolSet(chosen(config), deps.moreTools)
  /** What calls have cost that is not stored yet. */
  const spent: Draft[] = []
  let newestTurn: Turn | null = null
  const eyes = eyesOf(
    deps,
    () => newestTurn?.view() ?? [],
    (usage) => spent.push(usage),
  )
  const gateway = new Gateway({
    conversationId,
    tools: tools.byName,
    workspace,
    dataDir,
    locks,
    log,
    secretsFor: deps.secretsFor ?? (() => Promise.resolve({})),
    ...(analyze === undefined ? {} : { analyze }),
    ...(hooks === undefined ? {} : { hooks }),
    services: { ...deps.services, ...eyes },
  })
  const thinkerOf = (of: AgentConfig): Thinker => ({
    llm: deps.openLlm(of.llm),
    gateway,
    messages: new MessageBuilder(),
    tools: offeredTo(of.llm, tools.offered),
    shortener: shortenerOf(of, tools.offered, deps),
    seesImages: featuresOf(of.llm).vision,
    hasEyes: tools.byName.has(VISION_TOOL),
    isAsked: deps.isAsked ?? (() => true),
    judge: openJudge(of.critic, { tools: tools.offered, hasChanges: (signal) => hasChanges(workspace, signal), log }),
  })
  let thinker = thinkerOf(config)
  const refresh = () => {
    if (tools.refresh()) thinker = thinkerOf(config)
  }
  /** With the tools as they are when it begins. */
  const step = (begin: () => Step, signal: AbortSignal, tells = false): Step => {
    if (deps.moreTools === undefined) return begin()
    const newest = () => {
      refresh()
      return begin()
    }
    return withTools(tools, signal, newest, tells && (deps.isAsked?.() ?? true))
  }
  /** Performs calls, for which the conversation is there to look at. */
  const performing = (begin: () => Step, turn: Turn, signal: AbortSignal): Step => {
    newestTurn = turn
    return withSpending(step(begin, signal), spent)
  }
  /** Another model may need other tools, which are looked for before it is asked. */
  const changed = changedModel(async () => {
    const asked = config
    const equipped = await (deps.equip?.(asked) ?? asked)
    if (asked === config && tools.choose(chosen(equipped))) thinker = thinkerOf(config)
  })
  const limit = config.tool_concurrency_limit

  return {
    prepare: async (signal) => {
      await changed.settle()
      await tools.prepare(signal)
    },
    preamble: () => {
      refresh()
      const surroundings = {
        workingDir: workspace.workingDir,
        secrets: deps.secrets ?? [],
        now: deps.now?.() ?? new Date(),
      }
      const prompt: Draft = {
        kind: 'SystemPromptEvent',
        source: 'agent',
        system_prompt: textContent(staticPrompt(config, deps.promptFiles?.())),
        tools: [...tools.byName.values()].map(({ definition }) => definition),
        dynamic_context: textContent(dynamicPrompt(config, surroundings)),
      }
      return [prompt]
    },
    think: (turn, signal) => readied(changed, () => step(() => think(thinker, turn, signal), signal, true)),
    execute: (actions, turn, signal) =>
      refined(
        performing(() => execute(actions, gateway, limit, turn, signal), turn, signal),
        actions,
        config.critic,
        turn,
      ),
    recover: (actions, turn, signal) =>
      refined(
        performing(() => recover(actions, { gateway, workspace, limit }, turn, signal), turn, signal),
        actions,
        config.critic,
        turn,
      ),
    condense: (turn, signal) => {
      const { shortener } = thinker
      if (shortener === null) throw new ParleyError('bad_request', 'The agent has no condenser.')
      return condense(shortener, turn, signal)
    },
    ask: async (question, turn, signal) => {
      await tools.prepare(signal)
      refresh()
      const llm = deps.openLlm({ ...config.llm, stream: false, usage_id: ASK_USAGE_ID })
      return ask({ llm, tools: tools.offered }, question, turn, signal)
    },
    reconfigure: (next) => {
      // Notes of earlier sessions are in no record.
      config = { ...next, agent_context: config.agent_context }
      thinker = thinkerOf(config)
      changed.note()
    },
    interrupt: () => workspace.interrupt(),
    async [Symbol.asyncDispose]() {
      await gateway.ended()
      await tools.close((tool, err) => log.warn({ tool, err }, 'closing a tool failed'))
      await workspace[Symbol.asyncDispose]()
    },
  }
}

/** The service that looks at images, where there is anybody to ask. */
function eyesOf(
  { openLlm, seeing }: NativeAgentDeps,
  view: () => readonly TreeEvent[],
  spend: (usage: Draft) => void,
): Pick<ToolServices, 'vision'> {
  return seeing === undefined ? {} : { vision: visionOf({ openLlm, seeing, view, spend }) }
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
 * Checks the tools that an agent's configuration names, without opening anything.
 * @throws ParleyError `invalid_input`.
 */
export function resolveTools(config: AgentConfig, clientTools: readonly ClientToolSpec[] = []): void {
  createTools({ ...config, client_tools: clientTools })
}
