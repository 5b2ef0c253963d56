/** Properties derived from a skill's members; never stored. Source: agent-core.md 6.1, 6.3, 6.4. */
import type { AgentContext, Skill } from './skills.ts'

/** `repo`: always active; `knowledge`: activated by a word or a file; `agentskills`: a folder with a SKILL.md. */
export type SkillType = 'agentskills' | 'repo' | 'knowledge'

export function skillType({ is_agentskills_format, trigger }: Skill): SkillType {
  if (is_agentskills_format) return 'agentskills'
  return trigger === null ? 'repo' : 'knowledge'
}

/** Returns the active skills of a context. */
export function skillsInForce(context: AgentContext | null | undefined): Skill[] {
  if (context === null || context === undefined) return []
  const { skills, disabled_skills: disabled } = context
  return disabled.length === 0 ? skills : skills.filter(({ name }) => !disabled.includes(name))
}

/** True when the model may invoke the skill by name. */
export const isInvocable = (skill: Skill): boolean =>
  !skill.disable_model_invocation && skill.trigger?.type !== 'path' && skillType(skill) !== 'repo'

/** True when an agent gets the tool that invokes skills: the context has a skill for it. */
export const hasInvocable = (context: AgentContext | null | undefined): boolean =>
  skillsInForce(context).some((skill) => skill.is_agentskills_format && isInvocable(skill))
