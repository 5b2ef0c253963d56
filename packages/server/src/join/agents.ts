/** Joins agents to conversations: opens each where its conversation works, with the models, tools and secrets that it may have. */
import { createNativeAgent, createReplayAgent, type Agent, type NativeAgentDeps } from '../agent/index.ts'
import { promptFilesOf } from './agent-checks.ts'
import { agentModels, withEyes } from './agent-models.ts'
import type { Config } from '../config/index.ts'
import { readRecording, remoteOf, type Conversations, type HeartDeps, type OpenHooks } from '../conversation/index.ts'
import { withVariables } from './git-identity.ts'
import type { Hiding } from './hiding.ts'
import type { OpenLlm } from '../llm/index.ts'
import type { JoinedMcp } from './mcp.ts'
import type { Log } from '../observability/index.ts'
import { remembering } from './remembering.ts'
import type { Cipher } from '../secrets/index.ts'
import type { CommandSecrets, FindLlm } from '../settings/index.ts'
import type { Analyze } from '../security/index.ts'
import { skillsFor } from './skilling.ts'
import type { JoinedSecrets } from './steering.ts'
import type { EventStore } from '../storage/index.ts'
import { subAgentTypes } from './sub-agents.ts'
import type { Workspace, Workspaces } from '../workspace/index.ts'

export type AgentParts = Pick<NativeAgentDeps, 'locks'> & {
  analyze: Analyze
  config: Pick<Config, 'dataDir' | 'chromium' | 'trustedHooks'>
  workspaces: Workspaces
  openHooks: OpenHooks
  /** Models as this user's conversations get them. */
  openLlmOf: (owner: string) => OpenLlm
  findLlm: FindLlm
  /** Names of a user's model profiles. */
  profileNames: (owner: string) => Promise<string[]>
  mcp: JoinedMcp
  commandSecrets: Pick<CommandSecrets, 'gitVariables'>
  ownSecrets: JoinedSecrets
  masker: Hiding['masker']
  cipher: Cipher
  events: EventStore
  /** A folder of a conversation outside its workspace. */
  dataDirOf: (id: string) => string
  conversations: () => Pick<Conversations, 'send'>
  log: Log
}

type OpenAgent = HeartDeps['openAgent']
type Live = Parameters<OpenAgent>[0]
type Place = { workspace: Workspace; hooks: Awaited<ReturnType<OpenHooks>> }

/** Opens agents: this server's own, those of ACP programs, and those that replay a recording. */
export function openAgents(parts: AgentParts): OpenAgent {
  const { workspaces, commandSecrets, openHooks } = parts
  return async (live, signal) => {
    const { id, owner, record, epoch, current } = live
    const agent = remembering(record)
    const remote = remoteOf(record.workspace)
    const spec = { conversationId: id, workingDir: record.workspace.working_dir, epoch, remote }
    const workspace = withVariables(await workspaces.open(spec, signal), () => commandSecrets.gitVariables(owner))
    const hooks = await openHooks({ id, owner, record, epoch, current }, signal)
    const place = { workspace, hooks }
    const opened = agent.kind === 'ACPAgent' ? openAcp(agent, live, place, parts) : openOwn(agent, live, place, parts)
    return lettingGo(await opened, hooks, workspace)
  }
}

async function openAcp(
  agent: Extract<Live['record']['agent'], { kind: 'ACPAgent' }>,
  live: Live,
  place: Place,
  { config, ownSecrets, cipher, events, dataDirOf, analyze, log }: AgentParts,
): Promise<Agent> {
  const { openAcpAgent } = await import('./acp.ts')
  const own = { ownSecrets, cipher, events, dataDir: dataDirOf(live.id), serverDir: config.dataDir, analyze, log }
  return openAcpAgent(agent, live, { ...place, ...own })
}

async function openOwn(
  agent: Extract<Live['record']['agent'], { kind: 'Agent' }>,
  { id, owner, record, epoch, secrets, current, subAgents, clientCalls }: Live,
  { workspace, hooks }: Place,
  parts: AgentParts,
): Promise<Agent> {
  const { config, mcp, ownSecrets, masker, dataDirOf, openLlmOf, analyze, locks, log } = parts
  const { secretsFailed, ...given } = await ownSecrets.ofAgent(owner, secrets)
  const own = agentModels(id, owner, parts)
  const moreTools = await mcp.toolsOf(agent, { id, owner, epoch, record }, given.secretsFor)
  const deps: NativeAgentDeps = {
    openLlm: openLlmOf(owner),
    workspace,
    dataDir: dataDirOf(id),
    conversationId: id,
    ...given,
    services: {
      ...(subAgents === undefined ? {} : { subAgents }),
      ...(clientCalls === undefined ? {} : { clientCalls }),
      browser: { executable: config.chromium },
      skills: skillsFor(record, config.trustedHooks),
      models: own.models,
      secretsFailed,
      hide: async (text) => (await masker(owner, current())).text(text),
    },
    analyze,
    hooks,
    locks,
    log,
    clientTools: record.client_tools,
    seeing: own.seeing,
    equip: (next) => withEyes(next, own.seeing),
    promptFiles: await promptFilesOf(agent, config.dataDir),
    ...(await subAgentTypes(agent, subAgents)),
    ...(moreTools === undefined ? {} : { moreTools }),
  }
  const equipped = await withEyes(agent, own.seeing)
  if (record.replay === null || record.replay === undefined) return createNativeAgent(equipped, deps)
  const recording = await readRecording(deps.dataDir, record.replay)
  return createReplayAgent(equipped, { recording, stopOnDivergence: record.replay.stop_on_divergence }, deps)
}

/** The same agent, which lets go of what it worked with when it ends. */
function lettingGo(agent: Agent, ...others: readonly AsyncDisposable[]): Agent {
  const end = agent[Symbol.asyncDispose].bind(agent)
  agent[Symbol.asyncDispose] = async () => {
    await end()
    for (const other of others) await other[Symbol.asyncDispose]()
  }
  return agent
}
