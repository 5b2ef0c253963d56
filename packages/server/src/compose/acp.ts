/** Opens agents that are other programs; loaded with the first of them. */
import type { ACPAgent } from '@parley/protocol'
import { acpPrompts, loadAcpAgent, openPromptFiles, promptsDir, type Agent, type ToolHooks } from '../agent/index.ts'
import { readBranch, type EngineDeps } from '../conversation/index.ts'
import type { Fetch } from '../egress/index.ts'
import { priceOf, type Transport } from '../llm/index.ts'
import type { Log } from '../observability/index.ts'
import type { Cipher } from '../secrets/index.ts'
import type { Analyze } from '../security/index.ts'
import type { ConversationSecretAccess } from '../settings/index.ts'
import type { EventStore } from '../storage/index.ts'
import type { Workspace } from '../workspace/index.ts'

type Live = Pick<Parameters<EngineDeps['openAgent']>[0], 'id' | 'owner' | 'secrets' | 'current'>

export type AcpDeps = {
  workspace: Workspace
  hooks: ToolHooks
  confirm: (signal: AbortSignal) => Promise<void>
  analyze: Analyze
  fetchCritic: Fetch
  shrinker: Transport['shrinker']
  ownSecrets: Pick<ConversationSecretAccess, 'ofAgent'>
  cipher: Cipher
  events: EventStore
  /** The conversation's folder. */
  dataDir: string
  /** The server's data directory. */
  serverDir: string
  log: Log
}

/** An agent for one conversation; its program starts with the first prompt. @throws ParleyError for a file that cannot be read. */
export async function openAcpAgent(agent: ACPAgent, live: Live, deps: AcpDeps): Promise<Agent> {
  const {
    workspace,
    hooks,
    confirm,
    analyze,
    fetchCritic,
    shrinker,
    ownSecrets,
    cipher,
    events,
    dataDir,
    serverDir,
    log,
  } = deps
  const { AcpAgent } = await loadAcpAgent()
  const secrets = async () => {
    const { secrets: names, secretsFor } = await ownSecrets.ofAgent(live.owner, live.secrets)
    // The program runs commands that the server does not see, so it gets every secret of the conversation (agent-core.md 11.12).
    return { names, values: await secretsFor(names.map(({ name }) => name).join(' ')) }
  }
  const { prompt, policy } = acpPrompts(agent, await openPromptFiles(promptsDir(serverDir), agent))
  return new AcpAgent(agent, {
    conversationId: live.id,
    workspace,
    dataDir,
    secrets,
    secretNames: (await ownSecrets.ofAgent(live.owner, live.secrets)).secrets,
    seal: (text) => cipher.seal(text),
    unseal: (sealed) => cipher.open(sealed),
    promptFile: prompt,
    policyFile: policy,
    branch: async (leaf) => (await readBranch(events, live.id, leaf)).map(({ event }) => event),
    budgetUsd: () => live.current().max_budget_per_task,
    detectsStuck: () => live.current().stuck_detection,
    priceOf,
    analyze,
    fetchCritic,
    shrinker,
    hooks,
    confirm,
    log,
  })
}
