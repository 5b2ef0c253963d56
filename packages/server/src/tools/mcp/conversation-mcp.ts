/** MCP servers of conversations: where their programs run, which secrets they get, and which are trusted. */
import { asConversationId, type Agent, type ConversationId, type RemoteWorkspace } from '@parley/protocol'
import type { Fetch } from '../../egress/index.ts'
import type { Log } from '../../observability/index.ts'
import { isTrusted, type Workspaces } from '../../workspace/index.ts'
import { nameFilter } from '../name-filter.ts'
import type { ToolSource } from '../tool-source.ts'
import { identityOf } from './endpoint.ts'
import { openMcpPool, type McpWorkspace } from './pool.ts'
import { openToolbox } from './toolbox.ts'

export type ConversationMcpDeps = {
  workspaces: Pick<Workspaces, 'open' | 'release'>
  /** Patterns of servers whose annotations and descriptions the operator trusts. */
  trusted: readonly string[]
  /** Commands run in a sandbox, so each conversation gets servers of its own. */
  isSandboxed: boolean
  /** Matches whole names in linear time, for patterns that come from outside. */
  loadFullMatch: () => Promise<FullMatch>
  /** Requests to addresses of servers. */
  fetch: Fetch
  log: Pick<Log, 'warn'>
}

type FullMatch = NonNullable<NonNullable<Parameters<typeof nameFilter>[1]>['linear']>

/** The conversation that the tools are for. */
type McpUser = {
  id: ConversationId
  owner: string
  epoch: number
  /** Where it works, as its record says; conversations share servers only where this is equal. */
  workspace: { working_dir: string }
  /** The agent server that the working directory is on; null: this machine. */
  remote: RemoteWorkspace | null
}

export type ConversationMcp = AsyncDisposable & {
  /** The tools of an agent's servers; undefined when no server is enabled. Starts nothing. */
  toolsOf(
    agent: Pick<Agent, 'mcp_config' | 'filter_tools_regex'>,
    user: McpUser,
    secretsFor: (text: string) => Promise<Record<string, string>>,
  ): Promise<ToolSource | undefined>
}

export function openConversationMcp(deps: ConversationMcpDeps): ConversationMcp {
  const { workspaces, trusted, isSandboxed, loadFullMatch, log } = deps
  const pool = openMcpPool(deps.fetch)
  return {
    async toolsOf({ mcp_config, filter_tools_regex }, user, secretsFor) {
      if (!Object.values(mcp_config).some(({ enabled }) => enabled)) return undefined
      return openToolbox({
        servers: mcp_config,
        pool,
        home: isSandboxed ? ownWorkspace(workspaces, user) : sharedWorkspace(workspaces, user),
        secretsFor,
        isTrusted: (server) => isTrusted(identityOf(server), trusted),
        isLetThrough: nameFilter(filter_tools_regex, { linear: await loadFullMatch() }),
        log: { warn: (fields, message) => log.warn({ conversation_id: user.id, ...fields }, message) },
      })
    },
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  }
}

const keyOf = ({ owner, workspace }: McpUser): string => JSON.stringify([owner, workspace])

/** In a sandbox a program sees what its conversation sees, so it belongs to that conversation alone and ends with it. */
function ownWorkspace(workspaces: ConversationMcpDeps['workspaces'], user: McpUser): McpWorkspace {
  const { id: conversationId, owner, epoch, remote } = user
  const workingDir = user.workspace.working_dir
  return {
    key: JSON.stringify([keyOf(user), conversationId, epoch]),
    open: (_, signal) => workspaces.open({ conversationId, owner, workingDir, epoch, remote }, signal),
    leave: () => Promise.resolve(),
  }
}

/** Without a sandbox the owner's conversations in one directory share a server; it ends when the last of them releases it. */
function sharedWorkspace(workspaces: ConversationMcpDeps['workspaces'], user: McpUser): McpWorkspace {
  const { owner, remote } = user
  const workingDir = user.workspace.working_dir
  const idOf = (name: string) => asConversationId(`mcp-${name}`)
  return {
    key: keyOf(user),
    // It has no owner that could change, so the epoch is constant.
    open: (name, signal) =>
      workspaces.open({ conversationId: idOf(name), owner, workingDir, epoch: 1, remote }, signal),
    leave: (name) => (remote === null ? workspaces.release(idOf(name)) : Promise.resolve()),
  }
}
