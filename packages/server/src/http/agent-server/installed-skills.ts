/** Skills that a user has installed for all conversations. Source: agent-server-wire.md 1.13. */
import {
  enableSkill,
  getInstalledSkill,
  InstalledSkill,
  installSkill,
  listInstalledSkills,
  listSkillMarketplace,
  refreshSkill,
  syncSkills,
  uninstallSkill,
} from '@parley/protocol'
import type { InstalledPlugins } from '../../conversation/index.ts'
import { ok, route } from '../core/route.ts'
import type { Route } from '../core/web.ts'

const NO_MARKETPLACE = 'This server has no marketplace. Install skills from a repository or a folder.'
const NOTHING_TO_SYNC = 'This server has no public skills. Update an installed skill with its refresh.'

/** Without the members of a plugin. */
const shown = (skill: unknown) => InstalledSkill.parse(skill)

export function installedSkillRoutes(installed: InstalledPlugins): Route[] {
  return [
    route(installSkill, async ({ body, callerSignal }, { user }) =>
      ok(installSkill, shown(await installed.install(user, body, callerSignal()))),
    ),
    route(listInstalledSkills, async (_call, { user }) =>
      ok(listInstalledSkills, { skills: (await installed.list(user)).map(shown) }),
    ),
    route(getInstalledSkill, async ({ params }, { user }) =>
      ok(getInstalledSkill, shown(await installed.get(user, params.skill_name))),
    ),
    route(enableSkill, async ({ params: { skill_name: name }, body: { enabled } }, { user }) => {
      await installed.enable(user, name, enabled)
      return ok(enableSkill, { name, enabled })
    }),
    route(uninstallSkill, async ({ params: { skill_name: name } }, { user }) => {
      await installed.uninstall(user, name)
      return ok(uninstallSkill, { message: `Skill '${name}' uninstalled` })
    }),
    route(refreshSkill, async ({ params: { skill_name: name }, callerSignal }, { user }) => {
      const skill = shown(await installed.refresh(user, name, callerSignal()))
      return ok(refreshSkill, { message: `Skill '${name}' refreshed`, skill })
    }),
    route(listSkillMarketplace, async () => ok(listSkillMarketplace, { skills: [], message: NO_MARKETPLACE })),
    route(syncSkills, async () => ok(syncSkills, { status: 'error', message: NOTHING_TO_SYNC })),
  ]
}
