/** The groups of the agent-server face that are about the machine and what a user keeps there, rather than about conversations. */
import {
  bashRows,
  type ConversationId,
  type Endpoint,
  fileRows,
  gitRows,
  modelRows,
  profileRows,
} from '@parley/protocol'
import type { Actor } from '../../conversation/index.ts'
import type { Catalogue } from '../../llm/index.ts'
import type { Log } from '../../observability/index.ts'
import type { AgentProfiles, LlmProfiles, ProviderConnections } from '../../settings/index.ts'
import type { Bash, Hosts } from '../../workspace/index.ts'
import type { Route } from '../web.ts'
import { agentProfileRoutes } from './agent-profiles.ts'
import { bashRoutes } from './bash.ts'
import { fileRoutes } from './files.ts'
import { gitRoutes } from './git.ts'
import { modelRoutes } from './models.ts'
import { type ProfileDeps, profileRoutes } from './profiles.ts'
import { providerConnectionRoutes } from './provider-connections.ts'
import { toolRoutes } from './tools.ts'
import { workspaceFileRoutes, type WorkspaceSessions } from './workspace-files.ts'

export type Machine = {
  bash: Bash
  hosts: Hosts
  sessions: WorkspaceSessions
  /** The workspace of a conversation that lives here. @throws ParleyError `not_found`. */
  workingDirOf: (id: ConversationId, actor: Actor) => Promise<string>
  /** Names of tools that an agent may be given. */
  tools: readonly string[]
  catalogue: Catalogue
  profiles: LlmProfiles
  probe: ProfileDeps['probe']
  agentProfiles: AgentProfiles
  connections: ProviderConnections
}

/** What the routes below are described by. */
export const machineRows: readonly Endpoint[] = [...bashRows, ...fileRows, ...gitRows, ...modelRows, ...profileRows]

/** @param touch somebody works with the machine: the server is not idle (agent-server-wire.md 1.3). */
export function machineRoutes(machine: Machine, { log, touch }: { log: Log; touch: () => void }): Route[] {
  const { bash, hosts, sessions, profiles, probe } = machine
  return [
    ...toolRoutes(machine.tools),
    ...bashRoutes(bash, touch),
    ...gitRoutes(hosts, touch),
    ...fileRoutes({ hosts, log, touch }),
    ...workspaceFileRoutes({ workingDirOf: machine.workingDirOf, sessions, log }),
    ...modelRoutes(machine.catalogue),
    ...providerConnectionRoutes(machine.connections),
    ...profileRoutes({ profiles, probe, log }),
    ...agentProfileRoutes(machine.agentProfiles),
  ]
}
