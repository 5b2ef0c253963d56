/** Joins the MCP servers that agents name to conversations: where their programs run, which secrets they get, whom to believe. */
import { asConversationId, type Agent, type ConversationId } from '@parley/protocol'
import type { Config } from '../config/index.ts'
import { remoteOf, type ConversationRecord } from '../conversation/index.ts'
import { identityOf, nameFilter, openMcpPool, openToolbox, type Home, type ToolSource } from '../tools/index.ts'
import { isTrusted, type Workspaces } from '../workspace/index.ts'

export type McpParts = {
  workspaces: Workspaces
  config: Pick<Config, 'trustedMcpServers' | 'sandbox'>
  log: { warn(fields: object, message: string): void }
}

/** The conversation whose agent asks. */
export type McpUser = { id: ConversationId; owner: string; epoch: number; record: ConversationRecord }

export type JoinedMcp = AsyncDisposable & {
  /** The tools of an agent's servers; undefined when it names none that is switched on. Starts nothing. */
  toolsOf(
    agent: Pick<Agent, 'mcp_config' | 'filter_tools_regex'>,
    user: McpUser,
    secretsFor: (text: string) => Promise<Record<string, string>>,
  ): Promise<ToolSource | undefined>
}

export function joinMcp({ workspaces, config, log }: McpParts): JoinedMcp {
  const pool = openMcpPool()
  const isWalled = config.sandbox.mode !== 'off'
  return {
    async toolsOf({ mcp_config, filter_tools_regex }, user, secretsFor) {
      if (!Object.values(mcp_config).some(({ enabled }) => enabled)) return undefined
      const { fullMatch } = await import('../security/index.ts')
      return openToolbox({
        servers: mcp_config,
        pool,
        home: isWalled ? ownHome(workspaces, user) : sharedHome(workspaces, user),
        secretsFor,
        isTrusted: (server) => isTrusted(identityOf(server), config.trustedMcpServers),
        isLetThrough: nameFilter(filter_tools_regex, { linear: fullMatch }),
        log: { warn: (fields, message) => log.warn({ conversation_id: user.id, ...fields }, message) },
      })
    },
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  }
}

const placeOf = ({ owner, record }: McpUser) => ({
  key: JSON.stringify([owner, record.workspace]),
  workingDir: record.workspace.working_dir,
  remote: remoteOf(record.workspace),
})

/** Behind walls a program sees what its conversation sees, so it is that conversation's alone, and ends with it. */
function ownHome(workspaces: Workspaces, user: McpUser): Home {
  const { key, workingDir, remote } = placeOf(user)
  const { id: conversationId, epoch } = user
  return {
    key: JSON.stringify([key, conversationId, epoch]),
    open: (_, signal) => workspaces.open({ conversationId, workingDir, epoch, remote }, signal),
    leave: () => Promise.resolve(),
  }
}

/** Without walls the owner's conversations in one directory share it; it ends when the last of them lets go. */
function sharedHome(workspaces: Workspaces, user: McpUser): Home {
  const { key, workingDir, remote } = placeOf(user)
  const idOf = (name: string) => asConversationId(`mcp-${name}`)
  return {
    key,
    // It has no owner that could change, so the epoch never does.
    open: (name, signal) => workspaces.open({ conversationId: idOf(name), workingDir, epoch: 1, remote }, signal),
    leave: (name) => (remote === null ? workspaces.release(idOf(name)) : Promise.resolve()),
  }
}
