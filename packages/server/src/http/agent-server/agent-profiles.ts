/** Agent profiles. Source: agent-server-wire.md 1.12. */
import {
  activateAgentProfile,
  deleteAgentProfile,
  getAgentProfile,
  listAgentProfiles,
  materializeAgentProfile,
  renameAgentProfile,
  saveAgentProfile,
} from '@parley/protocol'
import type { AgentProfiles } from '../../settings/index.ts'
import { ok, route } from '../core/route.ts'
import type { Route } from '../core/web.ts'
import { bare } from './profiles.ts'

export function agentProfileRoutes(profiles: AgentProfiles): Route[] {
  return [
    route(listAgentProfiles, async (_call, { user }) => ok(listAgentProfiles, await profiles.list(user))),
    route(getAgentProfile, async ({ params }, { user }) => {
      const name = bare(params.name)
      return ok(getAgentProfile, { name, profile: await profiles.get(user, name) })
    }),
    route(saveAgentProfile, async ({ params, body }, { user }) => {
      const name = bare(params.name)
      await profiles.save(user, name, body)
      return ok(saveAgentProfile, { name, message: `Agent profile '${name}' saved` })
    }),
    route(deleteAgentProfile, async ({ params }, { user }) => {
      const name = bare(params.name)
      await profiles.delete(user, name)
      return ok(deleteAgentProfile, { name, message: `Agent profile '${name}' deleted` })
    }),
    route(renameAgentProfile, async ({ params, body }, { user }) => {
      const name = bare(body.new_name)
      await profiles.rename(user, bare(params.name), name)
      return ok(renameAgentProfile, { name, message: `Agent profile '${bare(params.name)}' renamed to '${name}'` })
    }),
    route(activateAgentProfile, async ({ params: { profile_id } }, { user }) => {
      await profiles.activate(user, profile_id)
      const message = 'Agent profile activated'
      return ok(activateAgentProfile, { id: profile_id, message, agent_settings_applied: false })
    }),
    route(materializeAgentProfile, async ({ params, callerSignal }, { user }) =>
      ok(materializeAgentProfile, await profiles.materialize(user, bare(params.name), callerSignal())),
    ),
  ]
}
