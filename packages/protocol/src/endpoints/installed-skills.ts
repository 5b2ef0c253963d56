/** Endpoint rows for the skills that a user has installed for all conversations. Source: agent-server-wire.md 1.13. */
import { z } from 'zod'
import { laxBoolean } from '../lax.ts'
import { text } from '../lax-text.ts'
import { endpoint } from './endpoint.ts'
import { InstalledPlugin, InstallPluginRequest } from './plugins.ts'

/** As an installed plugin, without its parts. */
export const InstalledSkill = InstalledPlugin.omit({ skills: true, files: true })
export type InstalledSkill = z.infer<typeof InstalledSkill>

const skills = { tag: 'Skills', auth: 'session_key' } as const
const one = {
  ...skills,
  path: '/api/skills/installed/{skill_name}',
  params: z.object({ skill_name: text({ pattern: /^[a-z0-9]+(?:-[a-z0-9]+)*$/, max: 64 }) }),
} as const
const installed = { status: 200, schema: InstalledSkill, description: 'The skill' } as const

export const installSkill = endpoint({
  operationId: 'installSkill',
  ...skills,
  method: 'POST',
  path: '/api/skills/install',
  description: 'Installs a folder with a SKILL.md, which every later conversation of the user gets.',
  body: InstallPluginRequest,
  ok: installed,
  errors: [400, 409],
})

export const listInstalledSkills = endpoint({
  operationId: 'listInstalledSkills',
  ...skills,
  method: 'GET',
  path: '/api/skills/installed',
  description: 'Lists the skills that the user has installed, by name.',
  ok: { status: 200, schema: z.object({ skills: z.array(InstalledSkill) }), description: 'Including disabled ones' },
  errors: [],
})

export const getInstalledSkill = endpoint({
  operationId: 'getInstalledSkill',
  ...one,
  method: 'GET',
  description: 'Returns an installed skill.',
  ok: installed,
  errors: [404],
})

export const enableSkill = endpoint({
  operationId: 'enableSkill',
  ...one,
  method: 'PATCH',
  description: 'Enables or disables an installed skill for later conversations.',
  body: z.object({ enabled: laxBoolean() }),
  ok: { status: 200, schema: z.object({ name: z.string(), enabled: z.boolean() }), description: 'Changed' },
  errors: [404],
})

export const uninstallSkill = endpoint({
  operationId: 'uninstallSkill',
  ...one,
  method: 'DELETE',
  description: 'Removes an installed skill; conversations that have it keep it.',
  ok: { status: 200, schema: z.object({ message: z.string() }), description: 'Removed' },
  errors: [404],
})

export const refreshSkill = endpoint({
  operationId: 'refreshSkill',
  ...one,
  method: 'POST',
  path: '/api/skills/installed/{skill_name}/refresh',
  description: 'Reads an installed skill from its source again.',
  ok: {
    status: 200,
    schema: z.object({ message: z.string(), skill: InstalledSkill }),
    description: 'The skill with its present commit',
  },
  errors: [400, 404, 409],
})

export const listSkillMarketplace = endpoint({
  operationId: 'listSkillMarketplace',
  ...skills,
  method: 'GET',
  path: '/api/skills/marketplace',
  description: 'Returns that this server has no marketplace.',
  ok: {
    status: 200,
    schema: z.object({
      skills: z.array(
        z.object({
          name: z.string(),
          description: z.string().nullable(),
          source: z.string(),
          installed: z.boolean(),
        }),
      ),
      message: z.string(),
    }),
    description: 'Always empty',
  },
  errors: [],
})

export const syncSkills = endpoint({
  operationId: 'syncSkills',
  ...skills,
  method: 'POST',
  path: '/api/skills/sync',
  description: 'Returns that this server has no public skills that could be updated.',
  ok: {
    status: 200,
    schema: z.object({ status: z.enum(['success', 'error']), message: z.string() }),
    description: 'Always an error with its reason',
  },
  errors: [],
})
