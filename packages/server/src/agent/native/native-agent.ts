/** The native agent: the server's own loop of model, tools and gateway. */
import type {
  ActionEvent,
  Agent as AgentConfig,
  ClientToolSpec,
  ConversationId,
  ConversationState,
  Draft,
} from '@parley/protocol'
import { ParleyError, readsPrediction, textContent } from '@parley/protocol'
import type { Fetch } from '../../egress/index.ts'
import { featuresOf, type OpenLlm } from '../../llm/index.ts'
import type { ToolCallEnd } from '../../observability/index.ts'
import type { Analyze } from '../../security/index.ts'
import { hasChanges, type Workspace, type WorkspaceFacts } from '../../workspace/index.ts'
import {
  createTools,
  VISION_TOOL,
  type Locks,
  type SubAgentType,
  type Tool,
  type ToolServices,
  type ToolSource,
} from '../../tools/index.ts'
import type { Agent, Log, SideAnswer, Step, StepContext } from '../agent.ts'
import { openCondenser, TokenMeter } from '../condenser/index.ts'
import { followUp, openCritic } from '../critic/index.ts'
import { ToolGateway, type ToolHooks } from '../gateway/tool-gateway.ts'
import type { PromptFiles } from '../prompts/files.ts'
import { dynamicPrompt, staticPrompt } from '../prompts/system-prompt.ts'
import { MessageBuilder } from '../view/messages.ts'
import { agentRequest } from './agent-request.ts'
import { ask } from './ask.ts'
import { changedModel } from './changed-model.ts'
import { condense, type ViewCondensation } from './condense.ts'
import { execute } from './execute.ts'
import { offeredTo } from './offered.ts'
import { recover } from './recover.ts'
import { step } from './step.ts'
import { think, type ThinkDeps } from './think.ts'
import { ToolSet } from './tool-set.ts'
import { visionOf, type VisionProfile } from './vision.ts'

/** Usage id of questions beside the conversation. Source: agent-core.md 3.8. */
const ASK_USAGE_ID = 'ask-agent-llm'

export type NativeAgentDeps = {
  conversationId: ConversationId
  openLlm: OpenLlm
  /** Requests to the address of a critic. */
  fetchCritic: Fetch
  workspace: Workspace
  /** A folder of the conversation outside the workspace; created when first used. */
  dataDir: string
  /** Shared by all agents of the process. */
  locks: Locks
  /** Resolves when this process may begin an effect. */
  confirm: (signal: AbortSignal) => Promise<void>
  log: Log
  /** Names of the secrets that a command may use, for the system prompt. */
  secrets: readonly { name: string; description: string | null }[]
  /** Values of the secrets that a text names. */
  secretsFor: (text: string) => Promise<Record<string, string>>
  /** Services of the server that tools use. */
  services: ToolServices
  analyze: Analyze
  hooks: ToolHooks
  /** Declared by the client of the conversation. */
  clientTools: readonly ClientToolSpec[]
  /** Tools of other servers, which may change between steps. Absent: none. */
  moreTools?: ToolSource
  /** Saved profiles whose models see images, for the vision tool. */
  visionProfiles: () => Promise<readonly VisionProfile[]>
  /** Adds the default tools that the model of a configuration needs, such as the vision tool. Called after a model switch. */
  completeConfig: (config: AgentConfig) => Promise<AgentConfig>
  /** Contents of the prompt files that the configuration names; throws where one cannot be used. Called for each preamble. */
  promptFiles: () => PromptFiles
  /** Types of sub-agents that the model can choose from. Absent: the built-in ones. */
  subAgentTypes?: readonly SubAgentType[]
  /** True when the model is asked, and not a recording of it. Absent: always. */
  asksModel?: () => boolean
  /** True when models are asked for a summary of each call. */
  callSummaries: boolean
  /** Called when a call of a tool has ended. */
  onCallEnd: (call: ToolCallEnd) => void
}

/**
 * Opens the agent of one conversation. Starts nothing: the model's provider is loaded with the first request.
 * @throws ParleyError `invalid_input` when the configuration names tools that do not exist; its preamble, for files.
 */
export const createNativeAgent = (config: AgentConfig, deps: NativeAgentDeps): Agent => new NativeAgent(config, deps)

class NativeAgent implements Agent {
  readonly #deps: NativeAgentDeps
  #config: AgentConfig
  readonly #concurrency: number
  readonly #tools: ToolSet
  readonly #gateway: ToolGateway
  /** Usage records of tool calls, stored with the next commit of a step. */
  readonly #spent: Draft[] = []
  /** The step that executes tools, whose view the vision tool reads. */
  #executing: StepContext | null = null
  #facts: WorkspaceFacts | null = null
  #thinkDeps: ThinkDeps
  /** Another model may need other tools, which are looked up before it is asked. */
  readonly #changedModel = changedModel(() => this.#chooseTools())

  constructor(config: AgentConfig, deps: NativeAgentDeps) {
    const { conversationId, workspace, dataDir, locks, confirm, log, secretsFor, analyze, hooks } = deps
    this.#deps = deps
    this.#config = config
    this.#concurrency = config.tool_concurrency_limit
    this.#tools = new ToolSet(this.#ownTools(config), { risk: false, summary: deps.callSummaries }, deps.moreTools)
    const vision = visionOf({
      openLlm: deps.openLlm,
      profiles: deps.visionProfiles,
      view: () => this.#executing?.view() ?? [],
      spend: (usage) => this.#spent.push(usage),
    })
    this.#gateway = new ToolGateway({
      conversationId,
      tools: this.#tools.byName,
      workspace,
      dataDir,
      locks,
      confirm,
      log,
      secretsFor,
      analyze,
      hooks,
      services: { ...deps.services, vision },
      onCallEnd: deps.onCallEnd,
    })
    this.#thinkDeps = this.#thinkDepsNow()
  }

  async prepare(signal: AbortSignal): Promise<void> {
    await this.#changedModel.settle()
    this.#facts = (await this.#deps.workspace.facts?.()) ?? null
    await this.#tools.prepare(signal)
  }

  preamble({ security_analyzer }: ConversationState): readonly Draft[] {
    const { workspace, secrets, promptFiles } = this.#deps
    this.#refreshTools()
    const surroundings = { workingDir: workspace.workingDir, facts: this.#facts, secrets, now: new Date() }
    const prompt: Draft = {
      kind: 'SystemPromptEvent',
      source: 'agent',
      system_prompt: textContent(staticPrompt(this.#config, promptFiles(), readsPrediction(security_analyzer))),
      tools: [...this.#tools.byName.values()].map(({ definition }) => definition),
      dynamic_context: textContent(dynamicPrompt(this.#config, surroundings)),
    }
    return [prompt]
  }

  think(context: StepContext, signal: AbortSignal): Step {
    const before = async () => {
      // The runner starts while the model is asked.
      if (this.#tools.byName.has('terminal')) this.#deps.workspace.warmUp?.()
      await this.#changedModel.settle()
      await this.#updateTools(signal)
      this.#followAnalyzer(context.state())
      return this.#asksModel() ? this.#tools.notices() : []
    }
    return step(() => think(this.#thinkDeps, context, signal), { before })
  }

  execute(actions: readonly ActionEvent[], context: StepContext, signal: AbortSignal): Step {
    const begin = () => execute(actions, this.#gateway, this.#concurrency, context, signal)
    return this.#executionStep(begin, actions, context, signal)
  }

  recover(actions: readonly ActionEvent[], context: StepContext, signal: AbortSignal): Step {
    const deps = { gateway: this.#gateway, workspace: this.#deps.workspace, limit: this.#concurrency }
    return this.#executionStep(() => recover(actions, deps, context, signal), actions, context, signal)
  }

  condense(context: StepContext, signal: AbortSignal): Step {
    // A summary over the agent's prefix needs the tools of its requests.
    const before = async () => {
      await this.#changedModel.settle()
      await this.#updateTools(signal)
      this.#followAnalyzer(context.state())
      return []
    }
    const begin = () => {
      const deps = this.#thinkDeps
      if (deps.condensation === null) throw new ParleyError('bad_request', 'The agent has no condenser.')
      return condense(deps.condensation, (view) => agentRequest(deps, view, context), context, signal)
    }
    return step(begin, { before })
  }

  async ask(question: string, context: StepContext, signal: AbortSignal): Promise<SideAnswer> {
    await this.#tools.prepare(signal)
    this.#refreshTools()
    this.#followAnalyzer(context.state())
    const llm = this.#deps.openLlm({ ...this.#config.llm, stream: false, usage_id: ASK_USAGE_ID })
    return ask({ ...this.#thinkDeps, messages: new MessageBuilder(), llm }, question, context, signal)
  }

  reconfigure(next: AgentConfig): void {
    // Notes of earlier sessions are not part of the stored record.
    this.#config = { ...next, agent_context: this.#config.agent_context }
    this.#thinkDeps = this.#thinkDepsNow()
    this.#changedModel.note()
  }

  forgetViews(): void {
    this.#thinkDeps.messages.forget()
    this.#executing = null
  }

  interrupt(): Promise<readonly Draft[] | void> {
    return this.#deps.workspace.interrupt()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { workspace, log } = this.#deps
    await this.#gateway.ended()
    await this.#tools.close((tool, err) => log.warn({ tool, err }, 'closing a tool failed'))
    await workspace[Symbol.asyncDispose]()
  }

  /** A step that executes tools: usage records first, and after a finish with a low score the request for another round. */
  #executionStep(begin: () => Step, actions: readonly ActionEvent[], context: StepContext, signal: AbortSignal): Step {
    this.#executing = context
    const { critic } = this.#config
    const before = async () => {
      await this.#updateTools(signal)
      return []
    }
    const decorate = (drafts: readonly Draft[]) => [
      ...this.#spent.splice(0),
      ...drafts,
      ...followUp(drafts, actions, critic, context.state()),
    ]
    return step(begin, { before, decorate })
  }

  #asksModel(): boolean {
    return this.#deps.asksModel?.() ?? true
  }

  #ownTools(config: AgentConfig): ReadonlyMap<string, Tool> {
    return createTools({ ...config, client_tools: this.#deps.clientTools, sub_agents: this.#deps.subAgentTypes })
  }

  /** Waits for the tools of other servers and takes them. @throws the signal's reason when aborted. */
  async #updateTools(signal: AbortSignal): Promise<void> {
    if (this.#deps.moreTools === undefined) return
    await this.#tools.prepare(signal)
    signal.throwIfAborted()
    this.#refreshTools()
  }

  #refreshTools(): void {
    if (this.#tools.refresh()) this.#thinkDeps = this.#thinkDepsNow()
  }

  /** Asks the model for the risk of its calls while an analyzer reads it. Only a change of the analyzer changes the tools. */
  #followAnalyzer({ security_analyzer }: ConversationState): void {
    const predicted = { risk: readsPrediction(security_analyzer), summary: this.#deps.callSummaries }
    if (this.#tools.predict(predicted)) this.#thinkDeps = this.#thinkDepsNow()
  }

  async #chooseTools(): Promise<void> {
    const config = this.#config
    const complete = await this.#deps.completeConfig(config)
    if (config === this.#config && this.#tools.choose(this.#ownTools(complete))) this.#thinkDeps = this.#thinkDepsNow()
  }

  #thinkDepsNow(): ThinkDeps {
    const { llm, critic } = this.#config
    const { openLlm, workspace, fetchCritic, log } = this.#deps
    const tools = this.#tools.offered
    return {
      llm: openLlm(llm),
      gateway: this.#gateway,
      messages: new MessageBuilder(),
      tools: offeredTo(llm, tools),
      condensation: this.#condensation(),
      seesImages: featuresOf(llm).vision,
      hasVisionTool: this.#tools.byName.has(VISION_TOOL),
      asksModel: () => this.#asksModel(),
      critique: openCritic(critic, {
        tools,
        hasChanges: (signal) => hasChanges(workspace, signal),
        fetch: fetchCritic,
        log,
      }),
    }
  }

  #condensation(): ViewCondensation | null {
    const { condenser, llm } = this.#config
    const { openLlm, log } = this.#deps
    if (condenser === null) return null
    return {
      condenser: openCondenser(condenser, { openLlm, log, agentUsageId: llm.usage_id }),
      meter: new TokenMeter(this.#tools.offered),
      llm,
    }
  }
}

/**
 * Checks the tools that an agent's configuration names, without opening anything.
 * @throws ParleyError `invalid_input`.
 */
export function resolveTools(config: AgentConfig, clientTools: readonly ClientToolSpec[] = []): void {
  createTools({ ...config, client_tools: clientTools })
}
