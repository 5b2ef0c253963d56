/** Joins agents that are other programs: their secrets, their folders, what they may read of their own past. */
import type { ACPAgent } from '@parley/protocol'
import { promptsDir } from './agent-checks.ts'
import { acpPrompts, loadAcpAgent, type Agent, type ToolHooks } from '../agent/index.ts'
import { readBranch, type HeartDeps } from '../conversation/index.ts'
import { priceOf } from '../llm/index.ts'
import type { Log } from '../observability/index.ts'
import { openPromptFiles } from './prompt-files.ts'
import type { Cipher } from '../secrets/index.ts'
import type { Analyze } from '../security/index.ts'
import type { JoinedSecrets } from './steering.ts'
import type { EventStore } from '../storage/index.ts'
import type { Workspace } from '../workspace/index.ts'

type Live = Pick<Parameters<HeartDeps['openAgent']>[0], 'id' | 'owner' | 'secrets' | 'current'>

export type AcpParts = {
  workspace: Workspace
  hooks: ToolHooks
  analyze: Analyze
  ownSecrets: Pick<JoinedSecrets, 'ofAgent'>
  cipher: Cipher
  events: EventStore
  /** The conversation's folder. */
  dataDir: string
  /** The server's data directory. */
  serverDir: string
  log: Log
}

/** An agent for one conversation; its program starts with the first prompt. @throws ParleyError for a file that cannot be read. */
export async function openAcpAgent(agent: ACPAgent, live: Live, parts: AcpParts): Promise<Agent> {
  const { workspace, hooks, analyze, ownSecrets, cipher, events, dataDir, serverDir, log } = parts
  const { AcpAgent } = await loadAcpAgent()
  const secrets = async () => {
    const { secrets: names, secretsFor } = await ownSecrets.ofAgent(live.owner, live.secrets)
    // The agent chooses its commands where nobody sees them: it gets what the conversation has (agent-core.md 11.12).
    return { names, values: await secretsFor(names.map(({ name }) => name).join(' ')) }
  }
  const told = acpPrompts(agent, await openPromptFiles(promptsDir(serverDir), agent))
  return new AcpAgent(agent, {
    conversationId: live.id,
    workspace,
    dataDir,
    secrets,
    secretNames: (await ownSecrets.ofAgent(live.owner, live.secrets)).secrets,
    seal: (text) => cipher.seal(text),
    unseal: (sealed) => cipher.open(sealed),
    promptFile: told.prompt,
    policyFile: told.policy,
    branch: async (leaf) => (await readBranch(events, live.id, leaf)).map(({ event }) => event),
    budgetUsd: () => live.current().max_budget_per_task,
    detectsStuck: () => live.current().stuck_detection,
    priceOf,
    analyze,
    hooks,
    log,
  })
}
