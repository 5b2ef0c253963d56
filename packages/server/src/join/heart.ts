/** Joins the heart to everything that its conversations work with. */
import { join } from 'node:path'
import { openAgents } from './agents.ts'
import type { Config } from '../config/index.ts'
import { openHeart, startPhases, type Heart, type RunObserver } from '../conversation/index.ts'
import { gitAccess } from './git-access.ts'
import { openGuard } from './guard.ts'
import { joinHiding } from './hiding.ts'
import { openHooking, overHooks } from './hooking.ts'
import { judgeModels } from './judging.ts'
import { lateLlm } from './late-model.ts'
import { openLlm, withFallbacks, type Transport } from '../llm/index.ts'
import type { JoinedMcp } from './mcp.ts'
import type { Log } from '../observability/index.ts'
import type { Cipher } from '../secrets/index.ts'
import {
  conversationDefaults,
  openLlmProfiles,
  type CommandSecrets,
  type FindLlm,
  type UserSettings,
} from '../settings/index.ts'
import { skillPhase } from './skilling.ts'
import type { JoinedSecrets } from './steering.ts'
import type { Storage } from '../storage/index.ts'
import { joinSubAgents } from './sub-agents.ts'
import { createLocks } from '../tools/index.ts'
import { describeIsolation, type Isolation, type Workspaces } from '../workspace/index.ts'

/** Without a limit of its own: conversations stay in memory until the process ends. */
const NEVER_MS = 2 ** 31 - 1

export type HeartParts = {
  config: Config
  log: Log
  storage: Storage
  cipher: Cipher
  workspaces: Workspaces
  isolation: Isolation
  /** Where conversations have folders of their own. */
  foldersDir: string
  transport: Transport
  mcp: JoinedMcp
  commandSecrets: CommandSecrets
  ownSecrets: JoinedSecrets
  settings: UserSettings
  findLlm: FindLlm
  runs?: RunObserver
}

/** The heart; it takes nothing over yet. */
export function joinHeart(parts: HeartParts): Heart {
  const { config, storage, cipher, workspaces, isolation, foldersDir, transport, log } = parts
  const { mcp, commandSecrets, ownSecrets, settings, findLlm, runs } = parts
  const locks = createLocks()
  const models = { transport, scriptsDirectory: join(config.dataDir, 'scripts') }
  const guard = openGuard({ openLlm: (llm) => openLlm(llm, models), vendor: config.vendor, cipher })
  const dataDirOf = (id: string) => join(foldersDir, id)
  const profiles = openLlmProfiles(storage.documents, settings, cipher)

  const usersModel = async (owner: string) => conversationDefaults(await settings.current(owner), config).llm
  const openLlmOf = (owner: string) => {
    const late = lateLlm(
      (llm) => openLlm(llm, models),
      () => usersModel(owner),
    )
    return withFallbacks(late, { find: (name) => findLlm(owner, name), log })
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

  const openAgent = openAgents({
    config,
    workspaces,
    openHooks,
    openLlmOf,
    findLlm,
    profileNames: async (user) => (await profiles.list(user)).profiles.map(({ name }) => name),
    mcp,
    commandSecrets,
    ownSecrets,
    masker,
    cipher,
    events: storage.events,
    dataDirOf,
    analyze: guard.analyze,
    locks,
    conversations: () => heart,
    log,
  })

  const heart: Heart = openHeart({
    storage,
    cipher,
    workspaces,
    findLlm,
    ...(runs === undefined ? {} : { runs }),
    log,
    ...joinSubAgents({
      workspaces,
      documents: storage.documents,
      home: config.home,
      trusted: config.trustedHooks,
      log,
    }),
    openAgent,
    openHooks,
    openLlm: (llm) => openLlm(llm, models),
    judgeModel: judgeModels(usersModel),
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
