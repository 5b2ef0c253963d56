/** Opens agents for conversations: in their workspaces, with the models, tools and secrets that they may use. */
import { ParleyError, type ConversationId } from '@parley/protocol'
import {
  createNativeAgent,
  createReplayAgent,
  promptFilesOf,
  withVision,
  type Agent,
  type NativeAgentDeps,
  type VisionProfile,
} from '../agent/index.ts'
import type { Config } from '../config/index.ts'
import {
  readRecording,
  remoteOf,
  skillsFor,
  subAgentTypes,
  withNotes,
  workspaceSpec,
  type Conversations,
  type ModelUser,
  type EngineDeps,
  type OpenHooks,
} from '../conversation/index.ts'
import type { Fetch } from '../egress/index.ts'
import { featuresOf, type OpenLlm, type Transport } from '../llm/index.ts'
import type { Log } from '../observability/index.ts'
import type { Cipher } from '../secrets/index.ts'
import type { Analyze } from '../security/index.ts'
import type { CommandSecrets, ConversationSecretAccess, FindLlm, Masking } from '../settings/index.ts'
import type { EventStore } from '../storage/index.ts'
import type { ConversationMcp, ModelService } from '../tools/index.ts'
import type { OpenCallNotes, OpenConversationFiles, Workspace, Workspaces } from '../workspace/index.ts'

export type AgentsDeps = Pick<NativeAgentDeps, 'locks' | 'confirm' | 'onCallEnd'> & {
  analyze: Analyze
  /** Requests to addresses of critics. */
  fetchCritic: Fetch
  config: Pick<Config, 'agents' | 'dataDir' | 'chromium' | 'trustedHooks'>
  workspaces: Workspaces
  openHooks: OpenHooks
  notes: OpenCallNotes
  files: OpenConversationFiles
  /** Models as a conversation gets them. */
  openLlmOf: (user: ModelUser) => OpenLlm
  shrinker: Transport['shrinker']
  findLlm: FindLlm
  /** Names of a user's model profiles. */
  profileNames: (owner: string) => Promise<string[]>
  mcp: ConversationMcp
  commandSecrets: Pick<CommandSecrets, 'gitVariables'>
  ownSecrets: ConversationSecretAccess
  masker: Masking['masker']
  cipher: Cipher
  events: EventStore
  /** Folder of a conversation outside its workspace. */
  dataDirOf: (id: string) => string
  conversations: () => Pick<Conversations, 'send'>
  log: Log
}

type OpenAgent = EngineDeps['openAgent']
type Live = Parameters<OpenAgent>[0]
type Opened = { workspace: Workspace; hooks: Awaited<ReturnType<OpenHooks>> }

/** Opens native agents, agents that are ACP programs, and agents that replay a recording. */
export function openAgents(deps: AgentsDeps): OpenAgent {
  return async (live, signal) => {
    const { owner, record } = live
    const agent = withNotes(record)
    const env = () => deps.commandSecrets.gitVariables(owner)
    const workspace = await deps.workspaces.open({ ...workspaceSpec(live), env }, signal)
    const hooks = await deps.openHooks(live, signal)
    const opened = { workspace, hooks }
    const made = agent.kind === 'ACPAgent' ? openAcp(agent, live, opened, deps) : openNative(agent, live, opened, deps)
    return disposingAlso(await made, hooks, workspace)
  }
}

async function openAcp(
  agent: Extract<Live['record']['agent'], { kind: 'ACPAgent' }>,
  live: Live,
  opened: Opened,
  { config, ownSecrets, cipher, events, dataDirOf, confirm, analyze, fetchCritic, shrinker, log }: AgentsDeps,
): Promise<Agent> {
  const { openAcpAgent } = await import('./acp.ts')
  const own = {
    ownSecrets,
    cipher,
    events,
    dataDir: dataDirOf(live.id),
    serverDir: config.dataDir,
    confirm,
    analyze,
    fetchCritic,
    shrinker,
    log,
  }
  return openAcpAgent(agent, live, { ...opened, ...own })
}

async function openNative(
  agent: Extract<Live['record']['agent'], { kind: 'Agent' }>,
  live: Live,
  { workspace, hooks }: Opened,
  from: AgentsDeps,
): Promise<Agent> {
  const { id, owner, record, epoch, secrets, current, subAgents, clientCalls } = live
  const {
    config,
    notes,
    files,
    mcp,
    ownSecrets,
    masker,
    dataDirOf,
    openLlmOf,
    analyze,
    fetchCritic,
    locks,
    confirm,
    log,
  } = from
  const { shrinker } = from
  const { secretsFailed, ...given } = await ownSecrets.ofAgent(owner, secrets)
  const { models, visionProfiles } = ownersModels(id, owner, from)
  const place = { workspace: record.workspace, remote: remoteOf(record.workspace) }
  const moreTools = await mcp.toolsOf(agent, { id, owner, epoch, ...place }, given.secretsFor)
  const ownFiles = files({ id, epoch })
  const deps: NativeAgentDeps = {
    openLlm: openLlmOf(live),
    fetchCritic,
    workspace,
    dataDir: dataDirOf(id),
    conversationId: id,
    ...given,
    services: {
      notes: notes({ id, epoch }),
      files: ownFiles,
      ...(subAgents === undefined ? {} : { subAgents }),
      ...(clientCalls === undefined ? {} : { clientCalls }),
      browser: { executable: config.chromium },
      shrinker,
      checksSyntax: config.agents.checkEdits,
      skills: skillsFor(record, config.trustedHooks),
      models,
      secretsFailed,
      liveOutput: live.liveOutput,
      hide: async (text) => (await masker(owner, current())).text(text),
    },
    analyze,
    hooks,
    locks,
    confirm,
    log,
    clientTools: record.client_tools,
    visionProfiles,
    callSummaries: config.agents.callSummaries,
    onCallEnd: from.onCallEnd,
    completeConfig: (next) => withVision(next, visionProfiles),
    promptFiles: await promptFilesOf(agent, config.dataDir),
    ...(await subAgentTypes(agent, subAgents)),
    ...(moreTools === undefined ? {} : { moreTools }),
  }
  const equipped = await withVision(agent, visionProfiles)
  if (record.replay === null || record.replay === undefined) return createNativeAgent(equipped, deps)
  const recording = await readRecording(ownFiles, record.replay)
  return createReplayAgent(equipped, { recording, stopOnDivergence: record.replay.stop_on_divergence }, deps)
}

/** Models that the agent's owner has saved: to switch to, and to read images with. Source: agent-core.md 8.6. */
function ownersModels(
  id: ConversationId,
  owner: string,
  { findLlm, profileNames, conversations }: Pick<AgentsDeps, 'findLlm' | 'profileNames' | 'conversations'>,
): { models: ModelService; visionProfiles: () => Promise<VisionProfile[]> } {
  return {
    models: {
      async switchTo(profile) {
        const found = await findLlm(owner, profile)
        if (found === null) throw unknownProfile(profile, await profileNames(owner))
        const llm = { ...found, usage_id: `profile:${profile}` }
        await conversations().send(id, { kind: 'switch_llm', llm }, { user: owner, role: 'user', keyId: 'agent' })
        return llm.model
      },
    },
    async visionProfiles() {
      const names = await profileNames(owner)
      const found = await Promise.all(
        names.map(async (name) => ({ name, llm: await findLlm(owner, name).catch(() => null) })),
      )
      return found.flatMap(({ name, llm }) => (llm !== null && featuresOf(llm).vision ? [{ name, llm }] : []))
    },
  }
}

function unknownProfile(profile: string, saved: readonly string[]): ParleyError {
  const names = saved.map((name) => `'${name}'`)
  const known = names.length === 0 ? 'none is saved' : `saved are ${names.join(', ')}`
  return new ParleyError('not_found', `There is no profile '${profile}'; ${known}.`)
}

/** The same agent; disposing it also disposes the others, after it. */
function disposingAlso(agent: Agent, ...others: readonly AsyncDisposable[]): Agent {
  const end = agent[Symbol.asyncDispose].bind(agent)
  agent[Symbol.asyncDispose] = async () => {
    await end()
    for (const other of others) await other[Symbol.asyncDispose]()
  }
  return agent
}
