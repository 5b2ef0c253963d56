/** Joins what a user keeps and does on the machine outside of conversations: commands, files, git, profiles. */
import { join, resolve } from 'node:path'
import { newConversationId, ParleyError, type LLM, type StartConversationRequest } from '@parley/protocol'
import type { Config } from '../config/index.ts'
import type { Actor, Conversations, LaunchResolution } from '../conversation/index.ts'
import type { Machine } from '../http/index.ts'
import { openCatalogue, openLlm, probeModel, type Transport } from '../llm/index.ts'
import type { Log } from '../observability/index.ts'
import { hashKey, type Cipher } from '../secrets/index.ts'
import {
  launchAgent,
  openAgentProfiles,
  openFindLlm,
  openLlmProfiles,
  openProviderConnections,
  type Identities,
  type UserSettings,
} from '../settings/index.ts'
import { openOwnSkillNames } from './skilling.ts'
import type { Storage } from '../storage/index.ts'
import { toolNames } from '../tools/index.ts'
import { openBash, openHosts, placeOfWorktree, type Workspaces } from '../workspace/index.ts'

export type MachineParts = {
  config: Config
  storage: Storage
  cipher: Cipher
  identities: Identities
  settings: UserSettings
  workspaces: Workspaces
  transport: Transport
  conversations: Pick<Conversations, 'info'>
  /** Takes a user's secrets out of a text. */
  hide: (user: string, text: string) => Promise<string>
  log: Log
}

export type JoinedMachine = AsyncDisposable & {
  machine: Machine
  /** What a start request of the agent-server face comes to. @throws ParleyError `not_found`, `invalid_input`. */
  resolve(user: string, body: StartConversationRequest): Promise<LaunchResolution>
  /** Takes up commands that an earlier process did not see the end of. */
  recover(): Promise<void>
}

export function joinMachine(parts: MachineParts): JoinedMachine {
  const { config, storage, cipher, settings, workspaces, transport, log } = parts
  const { documents } = storage
  const hosts = openHosts(workspaces, resolve('.'))
  const bash = openBash({ store: storage.bash, hosts, hide: parts.hide, log })
  const findLlm = openFindLlm(documents, cipher)
  const agentProfiles = openAgentProfiles({
    documents,
    settings,
    findLlm,
    serverModel: config.llm,
    skillsOf: openOwnSkillNames(config.home),
  })
  const models = { transport, scriptsDirectory: join(config.dataDir, 'scripts') }
  return {
    machine: {
      bash,
      hosts,
      sessions: workspaceSessions(cipher, parts.identities),
      workingDirOf: async (id, actor) => {
        const { workspace } = await parts.conversations.info(id, actor)
        if (workspace.kind === 'RemoteWorkspace')
          throw new ParleyError(
            'unsupported',
            `The files of this conversation are on another server: ${workspace.host}`,
          )
        return workspace.working_dir
      },
      tools: toolNames(),
      catalogue: openCatalogue(),
      profiles: openLlmProfiles(documents, settings, cipher),
      probe: (llm: LLM, signal) => probeModel(llm, (config) => openLlm(config, models), signal),
      agentProfiles,
      connections: openProviderConnections(documents, cipher, () => new Date()),
    },

    async resolve(user, body) {
      const launched = await launchAgent(user, body, { profiles: agentProfiles, cipher })
      if (!body.worktree) return { ...launched, worktree: null }
      const id = body.conversation_id ?? newConversationId()
      const root = join(config.dataDir, 'worktrees')
      const workingDir = await placeOfWorktree(body.workspace.working_dir, root, id)
      return { ...launched, worktree: workingDir === null ? null : { id, workingDir, root } }
    },

    recover: () => bash.recover(),
    [Symbol.asyncDispose]: () => bash[Symbol.asyncDispose](),
  }
}

/** What marks a token as made for this and nothing else. */
const PURPOSE = 'workspace-session'

/** A sealed hash of the key: it tells nothing, and lets nobody in once the key does not. */
function workspaceSessions(cipher: Cipher, identities: Pick<Identities, 'byHash'>): Machine['sessions'] {
  return {
    issue: (key) => cipher.seal(JSON.stringify([PURPOSE, hashKey(key)])),
    async actorOf(token): Promise<Actor | null> {
      const hash = hashIn(token, cipher)
      return hash === null ? null : identities.byHash(hash)
    },
  }
}

function hashIn(token: string, cipher: Cipher): string | null {
  try {
    const [purpose, hash] = JSON.parse(cipher.open(token)) as unknown[]
    return purpose === PURPOSE && typeof hash === 'string' ? hash : null
  } catch {
    // Somebody else's, an older server's, or nobody's: no token of ours.
    return null
  }
}
