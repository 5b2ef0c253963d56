/** Composes the edge that takes requests: the engine, and what users keep and do on the machine outside of conversations. */
import { join, resolve } from 'node:path'
import { InitSessionRequest, LLM, newConversationId, ParleyError, under } from '@parley/protocol'
import { expectAgent, loadKnownAcpServers, standardTools, withLlm } from '../agent/index.ts'
import type { Config } from '../config/index.ts'
import {
  fromAgentServer,
  fromConversationService,
  gitAccess,
  openDefinitionListing,
  openInstalled,
  openHooksOf,
  placedWorkspace,
  unknownConversation,
  type Actor,
  type Engine,
  type LaunchResolution,
  type StartRequest,
} from '../conversation/index.ts'
import type { Coordination, LiveNodes } from '../coordination/index.ts'
import { openDemo } from '../demo/index.ts'
import { addressForms } from '../egress/index.ts'
import {
  BUILT_UI,
  createApp,
  openWorkspaceSessions,
  type App,
  type AppDeps,
  type Gateway,
  type Machine,
} from '../http/index.ts'
import { configuredAddress, isConfigured, openCatalogue, openLlm, probeModel, type Transport } from '../llm/index.ts'
import { openAuditFile, openAuditSyslog, type AuditSink, type Log } from '../observability/index.ts'
import type { Quotas } from '../quotas/index.ts'
import type { Cipher } from '../secrets/index.ts'
import {
  conversationDefaults,
  agentMember,
  DEFAULT_USER,
  launchAgent,
  openAgentProfiles,
  openedLlm,
  openLlmProfiles,
  openProviderConnections,
  openSavedWorkspaces,
  withStoredKey,
  type CommandSecrets,
  type ConversationSecretAccess,
  type FindLlm,
  type Identities,
  type Logins,
  type NamedSecrets,
  type SuspendedUsers,
  type UserSettings,
} from '../settings/index.ts'
import { openSkillListing, skillNamesOf } from '../skills/index.ts'
import { AuditLog, type Storage } from '../storage/index.ts'
import { toolNames } from '../tools/index.ts'
import {
  browseFolder,
  openBash,
  openHosts,
  placeOfWorktree,
  probeProcessTracking,
  scriptsIn,
  type Isolation,
  type Roots,
  type RootsOf,
  type WorkspaceRemoval,
  type Workspaces,
} from '../workspace/index.ts'
import { composeUsers } from './users.ts'

export type EdgeDeps = {
  config: Config
  coordination: Coordination
  nodes: Pick<LiveNodes, 'count'>
  log: Log
  engine: Engine
  storage: Storage
  quotas: Quotas
  cipher: Cipher
  identities: Identities
  logins: Logins
  settings: UserSettings
  secrets: NamedSecrets
  commandSecrets: Pick<CommandSecrets, 'masker' | 'sawKey'>
  ownSecrets: ConversationSecretAccess
  findLlm: FindLlm
  workspaces: Workspaces
  roots: RootsOf
  transport: Transport
  isolation: Isolation
  suspended: SuspendedUsers
  removal: WorkspaceRemoval
  mcp: Machine['mcp']
  /** Text of the metrics of the server. */
  metricsText: AppDeps['metrics']
  onForward: AppDeps['onForward']
  /** Limits of live connections; default: those of the server. */
  liveLimits?: AppDeps['limits']
  /** Milliseconds that a chat completion waits for its answer; default: the gateway's. */
  chatWaitMs?: Gateway['waitMs']
  /** Folder of the built web UI; default: that of the build. */
  uiFolder?: string
}

export type Edge = App & {
  /** Reports from now on that the server is not ready. Requests are answered as before. */
  drain(): void
  /** Resumes commands that were running, and deletions of users, when an earlier process ended. */
  recover(): Promise<void>
}

/** The server's edge; it does not listen yet. */
export function composeEdge(deps: EdgeDeps): Edge {
  const {
    config,
    engine,
    storage,
    cipher,
    identities,
    logins,
    settings,
    secrets,
    ownSecrets,
    findLlm,
    isolation,
    log,
  } = deps
  const machine = composeMachine(deps)
  let isReady = true
  const users = composeUsers({ ...deps, bash: machine.bash, dataDir: config.dataDir })
  const app = createApp({
    conversations: engine,
    coordination: deps.coordination,
    fleet: { coordination: deps.coordination, nodes: storage.nodes, targets: storage.targets },
    isLoaded: (id) => engine.isLoaded(id),
    onForward: deps.onForward,
    userOf: async (id) => (await storage.conversations.get(id))?.owner ?? null,
    receiver: engine,
    deliveries: storage.outbox,
    demo: openDemo({ conversations: engine, documents: storage.documents }),
    webhookSecrets: config.webhookReceiverSecrets,
    keys: identities,
    logins,
    users,
    isSuspended: (user) => deps.suspended.has(user),
    audit: new AuditLog(storage.audit, log, { sinks: auditSinks(config, log) }),
    metrics: deps.metricsText,
    idempotency: storage.idempotency,
    cipher,
    quotas: deps.quotas,
    rateLimitPerMinute: config.rateLimitPerMinute,
    nodes: () => deps.nodes.count,
    authenticate: async (key) => {
      const identity = await logins.authenticate(key)
      if (identity !== null) deps.commandSecrets.sawKey(identity.user, key)
      return identity
    },
    settings,
    secrets,
    ...composeStarts(deps, machine),
    machine,
    skillsOf: openSkillListing({ hosts: machine.hosts, home: config.home, log }),
    subAgentsOf: openDefinitionListing({
      hosts: machine.hosts,
      home: config.home,
      trusted: config.trustedHooks,
      log,
    }),
    hooksOf: openHooksOf({ hosts: machine.hosts, trusted: config.trustedHooks, log }),
    steering: {
      acceptSecrets: (given) => under(['secrets'], () => ownSecrets.own.accept(given)),
      openedLlm: (user, llm) => under(['llm'], () => openedLlm(llm, cipher.tokensOf(user))),
      findLlm,
    },
    gateway: composeGateway(deps, machine.profiles),
    isReady: () => isReady,
    info: {
      usableTools: toolNames(),
      mode: config.mode,
      isolation: { level: isolation.level, network: isolation.network },
      processTracking: probeProcessTracking().level,
    },
    corsOrigins: config.corsOrigins,
    uiFolder: config.ui ? (deps.uiFolder ?? BUILT_UI) : null,
    hostNames: [config.host, ...config.publicHosts],
    takesKeyInUrl: config.socketKeyInUrl,
    bodyLimitBytes: config.bodyLimitBytes,
    expectAddresses: addressForms(config.userEgress, {
      model: configuredAddress(config.llm),
      vendor: config.vendor.apiUrl,
      mcp: config.searchUrl,
      other: null,
    }),
    trustedProxies: config.trustedProxies,
    log,
    ...(deps.liveLimits && { limits: deps.liveLimits }),
    ...(config.withoutKeys ? { noKeys: { user: DEFAULT_USER, role: 'admin', keyId: 'none' } } : {}),
  })
  return {
    listen: (address) => app.listen(address),
    drain() {
      isReady = false
    },
    async close(patience) {
      await app.close(patience)
      await users[Symbol.asyncDispose]()
      await machine.bash[Symbol.asyncDispose]()
    },
    recover: async () => {
      await Promise.all([machine.bash.recover(), users.recover()])
    },
  }
}

function auditSinks({ audit }: Config, log: Log): AuditSink[] {
  return [
    ...(audit.file === null ? [] : [openAuditFile(audit.file, log)]),
    ...(audit.syslog === null ? [] : [openAuditSyslog(audit.syslog, log)]),
  ]
}

/** The two ways to start a conversation. */
function composeStarts(
  { config, engine, cipher, settings, ownSecrets, roots }: EdgeDeps,
  { agentProfiles: profiles, installedPlugins, installedSkills }: Machine,
): Pick<AppDeps, 'startFromConversationService' | 'startFromAgentServer'> {
  const toolsFor = standardTools(config.agents.toolsByModel)
  const start = async (request: StartRequest, actor: Actor) => {
    // A replay repeats what was recorded, and an external agent brings its own plugins.
    const isAlone = request.agent.kind !== 'Agent' || Boolean(request.replay)
    if (isAlone) return engine.start(request, actor)
    const all = [...(await installedPlugins.ofStart(actor.user)), ...(await installedSkills.ofStart(actor.user))]
    return engine.start({ ...request, installed_plugins: all }, actor)
  }
  return {
    startFromConversationService: async (body, actor, options) => {
      const defaults = conversationDefaults(await settings.current(actor.user), config)
      return start(fromConversationService(body, { ...defaults, toolsFor }, options), actor)
    },
    startFromAgentServer: async (given, actor, { hasPolicy }) => {
      const body = { ...given, workspace: placedWorkspace(given.workspace, resolve('.')) }
      // A known id finds its conversation; nothing else of the body counts. Source: agent-server-wire.md 1.4.
      const known = body.conversation_id === null ? null : await engine.ownInfo(body.conversation_id, actor)
      if (known !== null) return { created: false, info: known }
      const launched = await launchAgent(actor.user, body, { profiles, cipher, toolsFor })
      const worktree = await worktreeOf(body, roots(actor.user), join(config.dataDir, 'worktrees'))
      const accepted = ownSecrets.ofStart(actor.user, body, launched.agent, agentMember(body))
      const ofUser = config.mode === 'shared' && !hasPolicy
      const review = ofUser ? conversationDefaults(await settings.current(actor.user), config) : null
      const request = fromAgentServer(body, { ...launched, worktree, secrets: accepted, review })
      await expectAgent(request.agent, request.client_tools ?? [], config.dataDir, agentMember(body))
      return start(request, actor)
    },
  }
}

async function worktreeOf(
  body: Parameters<typeof fromAgentServer>[0],
  roots: Roots,
  root: string,
): Promise<LaunchResolution['worktree']> {
  if (!body.worktree) return null
  const id = body.conversation_id ?? newConversationId()
  const workingDir = await placeOfWorktree(roots, body.workspace.working_dir, { root, name: id })
  return workingDir === null ? null : { id, workingDir, root }
}

/** Commands, files, git and profiles on this machine, outside of conversations. */
function composeMachine(deps: EdgeDeps): Machine {
  const { config, engine, storage, cipher, logins, settings, commandSecrets, findLlm, workspaces, roots, log } = deps
  const { documents } = storage
  const hosts = openHosts(workspaces, roots, resolve('.'))
  const hide = async (user: string, text: string) => (await commandSecrets.masker(user)).text(text)
  const installing = {
    ...gitAccess(settings),
    hosts: config.starts.hosts,
    pluginsDir: join(config.dataDir, 'plugins'),
    documents,
    machine: hosts,
    now: () => new Date(),
  }
  const models = { transport: deps.transport, ...scriptsIn(config.dataDir, roots) }
  return {
    bash: openBash({
      store: storage.bash,
      hosts,
      processes: deps.quotas.processes,
      hide,
      isSuspended: (user) => deps.suspended.has(user),
      log,
    }),
    hosts,
    sessions: openWorkspaceSessions(cipher, logins),
    workingDirOf: async (id, actor) => {
      const info = await engine.ownInfo(id, actor)
      if (info === null) throw unknownConversation(id)
      const { workspace } = info
      if (workspace.kind === 'RemoteWorkspace')
        throw new ParleyError('unsupported', `The files of this conversation are on another server: ${workspace.host}`)
      return roots(actor.user).recorded(workspace.working_dir)
    },
    browse: async (id, actor) => browseFolder(await engine.placeOf(id, actor), { workspaces, roots }),
    tools: toolNames(),
    catalogue: openCatalogue(),
    profiles: openLlmProfiles(documents, settings, cipher),
    probe: (llm, signal) => probeModel(llm, (record) => openLlm(record, models), signal),
    withStoredKey: async (user, llm) => withStoredKey(llm, await settings.current(user)),
    hasModel: async (user) =>
      isConfigured(LLM.parse(conversationDefaults(await settings.current(user), config).llm), deps.transport),
    agentProfiles: openAgentProfiles({
      documents,
      settings,
      findLlm,
      serverModel: config.llm,
      skillsOf: skillNamesOf(config.home),
    }),
    acpServers: async (user, signal) => {
      const [find, workspace, stored] = await Promise.all([
        loadKnownAcpServers(),
        hosts.of(user),
        deps.secrets.list(user),
      ])
      return find({ workspace, secretNames: stored.map(({ name }) => name) }, signal)
    },
    connections: openProviderConnections(documents, settings, cipher, () => new Date()),
    savedWorkspaces: openSavedWorkspaces(documents),
    mcp: deps.mcp,
    installedPlugins: openInstalled('plugin', installing),
    installedSkills: openInstalled('skill', installing),
  }
}

/** Conversations for programs that know only chat completions: started as New Conversation starts them, with a profile's model. */
function composeGateway(
  { config, engine, settings, findLlm, chatWaitMs }: EdgeDeps,
  profiles: Machine['profiles'],
): Gateway {
  const toolsFor = standardTools(config.agents.toolsByModel)
  return {
    ...(chatWaitMs && { waitMs: chatWaitMs }),
    profiles: async (user) => (await profiles.list(user)).profiles.map(({ name }) => name),
    async start({ id, profile, content, instructions }, actor: Actor) {
      const llm = await findLlm(actor.user, profile)
      if (llm === null)
        throw new ParleyError('not_found', `Profile '${profile}' not found`, { details: { profile_name: profile } })
      const defaults = conversationDefaults(await settings.current(actor.user), config)
      const body = InitSessionRequest.parse({
        conversation_id: id,
        ...(instructions === null ? {} : { conversation_instructions: instructions }),
      })
      const request = fromConversationService(body, { ...defaults, toolsFor })
      const agent =
        request.agent.kind === 'Agent' ? { ...withLlm(request.agent, llm), tools: toolsFor(llm) } : request.agent
      return engine.start({ ...request, agent, initial_message: { content } }, actor)
    },
  }
}
