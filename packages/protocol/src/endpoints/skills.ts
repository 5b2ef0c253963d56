/** The endpoint row that reads the skills of a project and of a user. Source: agent-server-wire.md 1.2, 1.13. */
import { z } from 'zod'
import { laxBoolean } from '../lax.ts'
import { MarketplaceRegistration } from '../skills.ts'
import { endpoint } from './endpoint.ts'
import { list } from '../lists.ts'

const yes = () => laxBoolean().default(true)

export const SkillsRequest = z.object({
  /** Accepted without effect: this version has no public skills. */
  load_public: yes(),
  load_user: yes(),
  load_project: yes(),
  /** Accepted without effect: this version has no organisations. */
  load_org: yes(),
  marketplace_path: z.string().nullable().default('marketplaces/default.json'),
  registered_marketplaces: list(MarketplaceRegistration).default([]),
  /** Directory of the project on the server's machine. */
  project_dir: z.string().nullable().default(null),
  org_configs: list(z.unknown()).nullable().default(null),
  org_config: z.unknown().default(null),
  sandbox_config: z.unknown().default(null),
})
export type SkillsRequest = z.infer<typeof SkillsRequest>

export const SkillInfo = z.object({
  name: z.string(),
  type: z.enum(['repo', 'knowledge', 'agentskills']),
  content: z.string(),
  /** Words or path patterns that activate the skill. */
  triggers: z.array(z.string()).default([]),
  source: z.string().nullable().default(null),
  description: z.string().nullable().default(null),
  is_agentskills_format: z.boolean().default(false),
  disable_model_invocation: z.boolean().default(false),
})
export type SkillInfo = z.infer<typeof SkillInfo>

export const SkillsResponse = z.object({
  skills: z.array(SkillInfo),
  /** Number of skills found per source, before equal names are merged. */
  sources: z.record(z.string(), z.int()).default({}),
})
export type SkillsResponse = z.infer<typeof SkillsResponse>

export const loadSkills = endpoint({
  operationId: 'loadSkills',
  tag: 'Skills',
  auth: 'session_key',
  method: 'POST',
  path: '/api/skills',
  description: 'Returns the skills of a project and of the user; of equal names, the nearest one.',
  body: SkillsRequest,
  ok: { status: 200, schema: SkillsResponse, description: 'The skills; unreadable files are omitted' },
  errors: [],
})
