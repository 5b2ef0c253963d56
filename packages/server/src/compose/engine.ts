/** Composes the engine: agents, models, hooks, start phases and masking of its conversations. */
import { join } from 'node:path'
import type { PruneLimits } from '../agent/index.ts'
import { openAgents } from './agents.ts'
import { composeModels } from './models.ts'
import type { Config } from '../config/index.ts'
import {
  findDefinitionsIn,
  gitAccess,
  judgeModels,
  openConversationHooks,
  openEngine,
  skillPhase,
  startPhases,
  type Engine,
  type Phase,
  type RunObserver,
} from '../conversation/index.ts'
import type { Egress } from '../egress/index.ts'
import { isConfigured, type OpenLlm, type Transport } from '../llm/index.ts'
import type { Log, ServerMetrics } from '../observability/index.ts'
import type { Quotas } from '../quotas/index.ts'
import type { Cipher } from '../secrets/index.ts'
import type { Analysis, Analyze } from '../security/index.ts'
import {
  LLM_PROFILES,
  openLlmProfiles,
  openMasking,
  type CommandSecrets,
  type ConversationSecretAccess,
  type FindLlm,
  type SuspendedUsers,
  type UserSettings,
} from '../settings/index.ts'
import type { Coordination } from '../coordination/index.ts'
import type { Storage } from '../storage/index.ts'
import { createLocks, type ConversationMcp } from '../tools/index.ts'
import {
  describeIsolation,
  type Isolation,
  type OpenCallNotes,
  type OpenConversationFiles,
  type RootsOf,
  type WorkspaceRemoval,
  type Workspaces,
} from '../workspace/index.ts'

/** Milliseconds, the longest timer there is: idle conversations stay in memory until the process ends. */
const NEVER_MS = 2 ** 31 - 1

export type ComposeEngineDeps = {
  config: Config
  quotas: Quotas
  log: Log
  storage: Storage
  coordination: Coordination
  cipher: Cipher
  workspaces: Workspaces
  roots: RootsOf
  notes: OpenCallNotes
  files: OpenConversationFiles
  removal: WorkspaceRemoval
  isolation: Isolation
  /** Folder that holds a folder for each conversation. */
  foldersDir: string
  transport: Transport
  egress: Egress
  mcp: ConversationMcp
  commandSecrets: CommandSecrets
  ownSecrets: ConversationSecretAccess
  settings: UserSettings
  findLlm: FindLlm
  suspended: SuspendedUsers
  runs: RunObserver
  metrics: ServerMetrics
  notifies: () => boolean
}

/** The engine; it resumes nothing before `recover`. */
export function composeEngine(deps: ComposeEngineDeps): Engine {
  const { config, storage, cipher, workspaces, foldersDir, mcp, commandSecrets, ownSecrets, settings, findLlm, log } =
    deps
  const locks = createLocks()
  const confirm = (signal: AbortSignal) => deps.coordination.confirm(signal)
  const { open, openLlmOf, usersModel } = composeModels(deps)
  const { analyze, acceptAnalyzer } = composeAnalysis(deps, open)
  const dataDirOf = (id: string) => join(foldersDir, id)
  const trusted = config.trustedHooks
  const { mask, maskForCommit, masker } = openMasking(commandSecrets, ownSecrets)
  const expectMoney = (user: string) => deps.quotas.expectMoney(user)
  const openHooks = openConversationHooks({
    workspaces,
    trusted,
    openLlmOf,
    expectMoney,
    mask,
    dataDirOf,
    locks,
    confirm,
    log,
  })
  const profiles = openLlmProfiles(storage.documents, settings, cipher)

  const engine: Engine = openEngine({
    storage,
    coordination: deps.coordination,
    cipher,
    workspaces,
    roots: deps.roots,
    removal: deps.removal,
    notes: deps.notes,
    findLlm,
    runs: deps.runs,
    onAppendRetry: () => deps.metrics.appendRetried(),
    log,
    llmNames: async (owner) => (await storage.documents.list(owner, LLM_PROFILES)).map(({ name }) => name),
    findDefinitions: findDefinitionsIn({ workspaces, home: config.home, trusted, log }),
    openAgent: openAgents({
      config,
      workspaces,
      notes: deps.notes,
      files: deps.files,
      openHooks,
      openLlmOf,
      shrinker: deps.transport.shrinker,
      findLlm,
      profileNames: async (user) => (await profiles.list(user)).profiles.map(({ name }) => name),
      mcp,
      commandSecrets,
      ownSecrets,
      masker,
      cipher,
      events: storage.events,
      dataDirOf,
      analyze,
      fetchCritic: deps.egress.fetch({ member: 'server_url of the critic' }),
      locks,
      confirm,
      conversations: () => engine,
      onCallEnd: (call) => deps.metrics.toolCall(call),
      log,
    }),
    openHooks,
    isSuspended: (user) => deps.suspended.has(user),
    acceptAnalyzer,
    openLlm: open,
    judgeModel: judgeModels((llm) => isConfigured(llm, deps.transport), usersModel),
    phases: composePhases(deps),
    ...(config.starts.deadlines.agent === undefined ? {} : { agentDeadlineMs: config.starts.deadlines.agent }),
    mask,
    maskForCommit,
    masker,
    now: () => new Date(),
    dataDir: config.dataDir,
    foldersDir,
    ephemeral: config.ephemeral,
    idleUnloadMs: config.idleUnloadMs ?? NEVER_MS,
    quotas: deps.quotas,
    notifies: deps.notifies,
    pruning: pruneLimits(config.agents),
  })
  return engine
}

const pruneLimits = ({ keptResultTokens, prunedResultTokens }: Config['agents']): PruneLimits => ({
  keepTokens: keptResultTokens === 0 ? Infinity : keptResultTokens,
  leastTokens: prunedResultTokens,
})

/** Analyzers bring two parsers, so they are loaded for the first conversation that has one. */
function composeAnalysis({ config, cipher, egress }: ComposeEngineDeps, open: OpenLlm) {
  const fetchVendor = egress.fetch({ member: 'api_url of the analyzer', own: [config.vendor.apiUrl] })
  let loading: Promise<Analysis> | undefined
  const load = () =>
    (loading ??= import('../security/index.ts').then(({ openAnalysis }) =>
      openAnalysis({ openLlm: open, vendor: config.vendor, fetchVendor, cipher }),
    ))
  const analyze: Analyze = async (...asked) => (await load()).analyze(...asked)
  const acceptAnalyzer = async (...asked: Parameters<Analysis['accept']>) => (await load()).accept(...asked)
  return { analyze, acceptAnalyzer }
}

function composePhases({ config, workspaces, removal, isolation, settings, log }: ComposeEngineDeps): Phase[] {
  const shared = { ...config.starts, ...gitAccess(settings), workspaces }
  return [
    ...startPhases({ ...shared, made: removal, isolation: describeIsolation(isolation) }),
    skillPhase({
      ...shared,
      home: config.home,
      trusted: config.trustedHooks,
      pluginsDir: join(config.dataDir, 'plugins'),
      log,
    }),
  ]
}
