/** The skills of a directory on the server's machine, and those of the user. Source: agent-server-wire.md 1.13. */
import { loadSkills, skillType, type Skill, type SkillInfo, type SkillsRequest } from '@parley/protocol'
import { ok, route } from '../core/route.ts'
import type { Route } from '../core/web.ts'

/** Skills by name, and the number of skills per source. */
export type SkillsOfDirectory = (
  user: string,
  request: SkillsRequest,
  signal: AbortSignal,
) => Promise<{ skills: Skill[]; sources: Record<string, number> }>

export function skillRoutes(skillsOf: SkillsOfDirectory): Route[] {
  return [
    route(loadSkills, async ({ body, callerSignal }, { user }) => {
      const { skills, sources } = await skillsOf(user, body, callerSignal())
      return ok(loadSkills, { skills: skills.map(infoOf), sources })
    }),
  ]
}

function infoOf(skill: Skill): SkillInfo {
  const { name, content, source, description, is_agentskills_format, disable_model_invocation } = skill
  const triggers = wordsOf(skill)
  const type = skillType(skill)
  return { name, type, content, triggers, source, description, is_agentskills_format, disable_model_invocation }
}

function wordsOf({ trigger }: Skill): string[] {
  if (trigger?.type === 'keyword') return trigger.keywords
  return trigger?.type === 'task' ? trigger.triggers : (trigger?.paths ?? [])
}
