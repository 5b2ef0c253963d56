/** Routes of the agent-server API about the machine and a user's stored profiles, rather than conversations. */
import type { AcpServer, ConversationId } from '@parley/protocol'
import type { Actor, InstalledPlugins } from '../../conversation/index.ts'
import type { Catalogue } from '../../llm/index.ts'
import type { Log } from '../../observability/index.ts'
import type { Quotas } from '../../quotas/index.ts'
import type { AgentProfiles, LlmProfiles, ProviderConnections, SavedWorkspaces } from '../../settings/index.ts'
import type { Bash, BrowsedFolder, Hosts } from '../../workspace/index.ts'
import type { Route } from '../core/web.ts'
import { acpServerRoutes } from './acp-servers.ts'
import { agentProfileRoutes } from './agent-profiles.ts'
import { bashRoutes } from './bash.ts'
import { conversationFileRoutes } from './conversation-files.ts'
import { fileRoutes } from './files.ts'
import { gitRoutes } from './git.ts'
import { type McpRoutesDeps, mcpRoutes } from './mcp.ts'
import { modelRoutes } from './models.ts'
import { installedSkillRoutes } from './installed-skills.ts'
import { pluginRoutes } from './plugins.ts'
import { type ProfileDeps, profileRoutes } from './profiles.ts'
import { providerConnectionRoutes } from './provider-connections.ts'
import { toolRoutes } from './tools.ts'
import { savedWorkspaceRoutes } from './workspaces.ts'
import { workspaceFileRoutes, type WorkspaceSessions } from './workspace-files.ts'

export type Machine = {
  bash: Bash
  hosts: Hosts
  sessions: WorkspaceSessions
  /** The workspace of a conversation of this server. @throws ParleyError `not_found`. */
  workingDirOf: (id: ConversationId, actor: Actor) => Promise<string>
  /** The working directory of a conversation of this server, on any machine. @throws ParleyError `not_found`. */
  browse: (id: ConversationId, actor: Actor) => Promise<BrowsedFolder>
  /** Names of the tools that an agent can be given. */
  tools: readonly string[]
  catalogue: Catalogue
  profiles: LlmProfiles
  probe: ProfileDeps['probe']
  withStoredKey: ProfileDeps['withStoredKey']
  /** True when new conversations of the user have a model that can be requested. */
  hasModel: (user: string) => Promise<boolean>
  agentProfiles: AgentProfiles
  /** The known external agents, as a new conversation of the user would find them. */
  acpServers: (user: string, signal: AbortSignal) => Promise<AcpServer[]>
  connections: ProviderConnections
  savedWorkspaces: SavedWorkspaces
  installedPlugins: InstalledPlugins
  installedSkills: InstalledPlugins
  mcp: McpRoutesDeps
}

/** @param touch records activity, for the idle time of the server. Source: agent-server-wire.md 1.3. */
export function machineRoutes(
  machine: Machine,
  { quotas, log, touch }: { quotas: Quotas; log: Log; touch: () => void },
): Route[] {
  const { bash, hosts, sessions, profiles, probe, withStoredKey } = machine
  return [
    ...toolRoutes(machine.tools),
    ...bashRoutes(bash, touch),
    ...gitRoutes(hosts, touch),
    ...fileRoutes({ hosts, quotas, log, touch }),
    ...workspaceFileRoutes({ workingDirOf: machine.workingDirOf, roots: (user) => hosts.roots(user), sessions, log }),
    ...conversationFileRoutes({ browse: machine.browse, log, touch }),
    ...modelRoutes(machine.catalogue),
    ...providerConnectionRoutes(machine.connections),
    ...profileRoutes({ profiles, probe, withStoredKey, quotas, log }),
    ...savedWorkspaceRoutes(machine.savedWorkspaces),
    ...pluginRoutes(machine.installedPlugins),
    ...installedSkillRoutes(machine.installedSkills),
    ...mcpRoutes(machine.mcp),
    ...agentProfileRoutes(machine.agentProfiles),
    ...acpServerRoutes(machine.acpServers),
  ]
}
