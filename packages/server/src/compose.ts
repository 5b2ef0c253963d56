/** The only place that picks implementations and joins rooms. */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createNativeAgent, createReplayAgent, resolveTools, type Agent, type NativeAgentDeps } from './agent/index.ts'
import { agentModels, withEyes } from './agent-models.ts'
import { openAutomation } from './automation.ts'
import { ConfigError, isLoopback, type Config } from './config.ts'
import {
  fromAgentServer,
  fromSeed,
  openHeart,
  readRecording,
  remoteOf,
  startPhases,
  withReceived,
  type Actor,
  type Heart,
  type HeartDeps,
  type RunObserver,
  type StartRequest,
} from './conversation/index.ts'
import { openFolders } from './folders.ts'
import { gitAccess } from './git-access.ts'
import { withVariables } from './git-identity.ts'
import { joinHiding } from './hiding.ts'
import { createApp, type App } from './http/index.ts'
import { lateLlm } from './late-model.ts'
import { joinMachine, type JoinedMachine } from './machine.ts'
import { joinMcp, type JoinedMcp } from './mcp.ts'
import { joinGateway, joinSecrets, joinSteering, type JoinedSecrets } from './steering.ts'
import { openLlm, openTransport, withFallbacks, type Transport } from './llm/index.ts'
import { openLog, type Log } from './observability/index.ts'
import { openGuard } from './guard.ts'
import { openHooking, openHooksOf, overHooks } from './hooking.ts'
import { openSkillsOf, skillPhase, skillsFor } from './skilling.ts'
import { remembering } from './remembering.ts'
import { joinSubAgents, subAgentTypes } from './sub-agents.ts'
import { openCipher, type Cipher } from './secrets/index.ts'
import {
  conversationDefaults,
  DEFAULT_USER,
  openCommandSecrets,
  openFindLlm,
  openIdentities,
  openLlmProfiles,
  openNamedSecrets,
  openUserSettings,
  type CommandSecrets,
  type FindLlm,
  type Identities,
  type NamedSecrets,
  type UserSettings,
} from './settings/index.ts'
import { openSqlite, type Storage } from './storage/index.ts'
import { createLocks, toolNames } from './tools/index.ts'
import { openWebhooks } from './webhooks/index.ts'
import {
  describeIsolation,
  lookAtIsolation,
  openEveryWorkspace,
  openLocalWorkspaces,
  type Isolation,
  type Workspaces,
} from './workspace/index.ts'

/** Without a limit of its own: conversations stay in memory until the process ends. */
const NEVER_MS = 2 ** 31 - 1

export type Server = AsyncDisposable & {
  /** Where it listens, without a trailing slash. */
  url: string
  /** The key that this start made; null when there was one already. Shown once, never again. */
  firstKey: string | null
}

/** Where a test may put itself between two rooms. */
export type Joints = { wrapStorage?: (storage: Storage) => Storage }

/**
 * Starts a server and takes over what an earlier one left running. Resolves when it answers requests.
 * @throws the system's error when it cannot listen; ParleyError when the data directory cannot be used.
 */
export async function startServer(
  config: Config,
  { wrapStorage = (storage) => storage }: Joints = {},
): Promise<Server> {
  const log = openLog(config.logLevel)
  await mkdir(config.dataDir, { recursive: true, mode: 0o700 })
  await using opened = new AsyncDisposableStack()

  const path = config.ephemeral ? ':memory:' : join(config.dataDir, 'parley.db')
  const storage = wrapStorage(opened.use(await openSqlite({ path })))
  const foldersDir = opened.use(await openFolders(config)).path
  const cipher = await openCipher({
    ...(config.secretKey === null ? {} : { keyText: config.secretKey }),
    keyFile: join(config.dataDir, 'secret-key'),
  })
  const identities = openIdentities(storage.keys, config.sessionApiKeys, () => new Date())
  const firstKey = await firstKeyOf(config, identities)
  const isolation = await lookAtIsolation(config.sandbox)
  const { sandbox } = config
  if (isolation.level === 'none' && sandbox.mode !== 'off')
    log.warn({ sandbox: sandbox.mode, reason: isolation.reason }, 'no sandbox for commands')
  const workspaces = opened.use(
    openEveryWorkspace({
      local: openLocalWorkspaces({ dataDir: config.dataDir, orphanExitMs: config.runner.orphanExitMs, sandbox, log }),
      dataDir: config.dataDir,
      log,
    }),
  )
  const secrets = openNamedSecrets(storage.secrets, cipher)
  const findLlm = openFindLlm(storage.documents, cipher)
  const settings = openUserSettings(storage.settings, secrets, cipher, findLlm)
  const commandSecrets = openCommandSecrets({ secrets, settings, cipher, log })
  const transport = openTransport()
  opened.defer(() => transport[Symbol.dispose]())
  const now = () => new Date()
  // Before anything is committed, and closed after the last commit.
  opened.use(await openWebhooks({ targets: config.webhooks, outbox: storage.outbox, now, log }))
  const automation = opened.use(openAutomation(config, storage, log))
  const ownSecrets = joinSecrets({ config, cipher, commandSecrets, log })
  const mcp = opened.use(joinMcp({ workspaces, config, log }))
  const heart = joinHeart({
    config,
    mcp,
    storage,
    foldersDir,
    cipher,
    workspaces,
    isolation,
    transport,
    commandSecrets,
    ownSecrets,
    settings,
    findLlm,
    ...automation.runs,
    log,
  })
  opened.defer(() => heart.close())
  const hide = async (user: string, text: string) => (await commandSecrets.masker(user)).text(text)
  const own = { config, storage, cipher, identities, settings, workspaces, transport, conversations: heart, hide, log }
  const machine = opened.use(joinMachine(own))
  const app = joinEdge({
    config,
    heart,
    storage,
    cipher,
    identities,
    settings,
    secrets,
    ownSecrets,
    findLlm,
    machine,
    isolation,
    log,
  })
  opened.defer(() => app.close())

  const { host, port } = await app.listen({ host: config.host, port: config.port })
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}`
  ownSecrets.listensAt(url)
  const notice = join(config.dataDir, 'server.json')
  await writeFile(notice, JSON.stringify({ url, pid: process.pid }), { mode: 0o600 })
  opened.defer(() => rm(notice, { force: true }))
  machine.recover().catch((error: unknown) => log.error({ err: error }, 'taking over running commands failed'))
  automation.recover().catch((error: unknown) => log.error({ err: error }, 'taking up completion callbacks failed'))
  heart.recover().catch((error: unknown) => log.error({ err: error }, 'taking over running conversations failed'))

  const open = opened.move()
  return { url, firstKey, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

type Parts = { config: Config; log: Log }

type HeartParts = Parts & {
  mcp: JoinedMcp
  isolation: Isolation
  /** Where conversations have folders of their own. */
  foldersDir: string
  storage: Storage
  cipher: Cipher
  workspaces: Workspaces
  transport: Transport
  commandSecrets: CommandSecrets
  ownSecrets: JoinedSecrets
  settings: UserSettings
  findLlm: ReturnType<typeof openFindLlm>
  runs?: RunObserver
}

function joinHeart({
  config,
  mcp,
  log,
  transport,
  commandSecrets,
  ownSecrets,
  settings,
  isolation,
  foldersDir,
  ...parts
}: HeartParts): Heart {
  const locks = createLocks()
  const { workspaces } = parts
  const models = { transport, scriptsDirectory: join(config.dataDir, 'scripts') }
  const guard = openGuard({ openLlm: (llm) => openLlm(llm, models), vendor: config.vendor, cipher: parts.cipher })
  const dataDirOf = (id: string) => join(foldersDir, id)
  const profiles = openLlmProfiles(parts.storage.documents, settings, parts.cipher)

  const openLlmOf = (owner: string) => {
    const usersModel = async () => conversationDefaults(await settings.current(owner), config).llm
    const late = lateLlm((llm) => openLlm(llm, models), usersModel)
    return withFallbacks(late, { find: (name) => parts.findLlm(owner, name), log })
  }
  const { mask, masker } = joinHiding(commandSecrets, ownSecrets)
  const openHooks = openHooking({
    workspaces,
    trusted: config.trustedHooks,
    openLlmOf,
    mask,
    dataDirOf,
    locks,
    log,
  })

  async function openAgent(
    { id, owner, record, epoch, secrets, current, subAgents, clientCalls }: Parameters<HeartDeps['openAgent']>[0],
    signal: AbortSignal,
  ): Promise<Agent> {
    const agent = remembering(record)
    const remote = remoteOf(record.workspace)
    const spec = { conversationId: id, workingDir: record.workspace.working_dir, epoch, remote }
    const workspace = withVariables(await workspaces.open(spec, signal), () => commandSecrets.gitVariables(owner))
    const hooks = await openHooks({ id, owner, record, epoch, current }, signal)
    if (agent.kind === 'ACPAgent') {
      const { openAcpAgent } = await import('./acp.ts')
      const { cipher, storage } = parts
      const acp = { workspace, hooks, ownSecrets, cipher, events: storage.events, dataDir: dataDirOf(id), log }
      const live = { id, owner, secrets, current }
      return lettingGo(
        await openAcpAgent(agent, live, { ...acp, analyze: guard.analyze, serverDir: config.dataDir }),
        hooks,
        workspace,
      )
    }
    const { secretsFailed, ...given } = await ownSecrets.ofAgent(owner, secrets)
    const own = agentModels(id, owner, {
      findLlm: parts.findLlm,
      profileNames: async (user) => (await profiles.list(user)).profiles.map(({ name }) => name),
      conversations: () => heart,
    })
    const moreTools = mcp.toolsOf(agent, { id, owner, epoch, record }, given.secretsFor)
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
      analyze: guard.analyze,
      hooks,
      locks,
      log,
      clientTools: record.client_tools,
      seeing: own.seeing,
      ...(await subAgentTypes(agent, subAgents)),
      ...(moreTools === undefined ? {} : { moreTools }),
    }
    const equipped = await withEyes(agent, own.seeing)
    if (record.replay === null || record.replay === undefined)
      return lettingGo(createNativeAgent(equipped, deps), hooks, workspace)
    const recording = await readRecording(deps.dataDir, record.replay)
    const replayed = { recording, stopOnDivergence: record.replay.stop_on_divergence }
    return lettingGo(createReplayAgent(equipped, replayed, deps), hooks, workspace)
  }

  const heart = openHeart({
    ...parts,
    log,
    ...joinSubAgents({
      workspaces,
      documents: parts.storage.documents,
      home: config.home,
      trusted: config.trustedHooks,
      log,
    }),
    openAgent,
    openHooks,
    openLlm: (llm) => openLlm(llm, models),
    phases: [
      ...startPhases({
        ...config.starts,
        ...gitAccess(settings),
        workspaces,
        isolation: describeIsolation(isolation),
      }),
      skillPhase({
        ...config.starts,
        ...gitAccess(settings),
        workspaces,
        home: config.home,
        trusted: config.trustedHooks,
        pluginsDir: join(config.dataDir, 'plugins'),
        log,
      }),
    ],
    ...(config.starts.deadlines.agent === undefined ? {} : { agentDeadlineMs: config.starts.deadlines.agent }),
    mask,
    masker,
    now: () => new Date(),
    dataDir: config.dataDir,
    foldersDir,
    ephemeral: config.ephemeral,
    idleUnloadMs: config.idleUnloadMs ?? NEVER_MS,
    maxConcurrentRuns: config.maxConcurrentRuns,
    notifies: config.webhooks.length > 0,
  })
  return overHooks(guard.over(heart))
}

type EdgeParts = Parts & {
  heart: Heart
  storage: Storage
  cipher: Cipher
  identities: Identities
  settings: UserSettings
  secrets: NamedSecrets
  ownSecrets: JoinedSecrets
  findLlm: FindLlm
  machine: JoinedMachine
  isolation: Isolation
}

function joinEdge({
  config,
  heart,
  storage,
  cipher,
  identities,
  settings,
  secrets,
  ownSecrets,
  findLlm,
  machine,
  isolation,
  log,
}: EdgeParts): App {
  const anyone: Actor = { user: DEFAULT_USER, role: 'admin', keyId: 'none' }
  const conversations = withReceived(heart, { storage, cipher, now: () => new Date() })
  return createApp({
    conversations,
    receiver: conversations,
    deliveries: storage.outbox,
    keys: identities,
    audit: storage.audit,
    rateLimitPerMinute: config.rateLimitPerMinute,
    authenticate: (key) => identities.authenticate(key),
    settings,
    secrets,
    startFromSeed: async (body, actor, options) => {
      const request = fromSeed(body, conversationDefaults(await settings.current(actor.user), config), options)
      return heart.start(request, actor)
    },
    machine: machine.machine,
    skillsOf: openSkillsOf({ hosts: machine.machine.hosts, home: config.home, log }),
    hooksOf: openHooksOf({ hosts: machine.machine.hosts, trusted: config.trustedHooks, log }),
    steering: joinSteering(ownSecrets, findLlm, cipher),
    gateway: joinGateway({ config, conversations: heart, settings, profiles: machine.machine.profiles, findLlm }),
    startFromAgentServer: async (body, actor) => {
      const resolved = await machine.resolve(actor.user, body)
      const request = fromAgentServer(body, { ...resolved, secrets: ownSecrets.ofStart(body, resolved.agent) })
      expectTools(request)
      return heart.start(request, actor)
    },
    info: { usableTools: toolNames(), isolation: { level: isolation.level, network: isolation.network } },
    corsOrigins: config.corsOrigins,
    hostNames: [config.host, ...config.publicHosts],
    takesKeyInUrl: config.socketKeyInUrl,
    bodyLimitBytes: config.bodyLimitBytes,
    log,
    ...(config.withoutKeys ? { noKeys: anyone } : {}),
  })
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

/** @throws ParleyError `invalid_input` naming a tool that does not exist, before anything is stored. */
function expectTools({ agent, client_tools }: StartRequest): void {
  if (agent.kind === 'Agent') resolveTools(agent, client_tools)
}

/**
 * With no key configured and none stored, makes one for the default user and keeps it readable for the owner of the data
 * directory, so that the command line on this machine finds it. Source: design.md 3, Identity.
 */
async function firstKeyOf(config: Config, identities: Identities): Promise<string | null> {
  if (config.withoutKeys || config.sessionApiKeys.length > 0) return null
  if ((await identities.list()).length > 0) return null
  if (!isLoopback(config.host)) {
    throw new ConfigError(
      `no key is configured, so the server listens on this machine only, not on ${config.host}; ` +
        'set PARLEY_SESSION_API_KEYS or make a key with: parley keys create',
    )
  }
  const { key } = await identities.create({ user: DEFAULT_USER, role: 'admin', label: 'first key', expiresAt: null })
  await writeFile(join(config.dataDir, 'first-key'), `${key}\n`, { mode: 0o600 })
  return key
}
