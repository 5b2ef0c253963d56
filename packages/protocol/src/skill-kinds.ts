/** What follows from a skill's members; derived, never stored. Source: agent-core.md 6.1, 6.3, 6.4. */
import type { AgentContext, Skill } from './skills.ts'

/** `repo`: holds all the time; `knowledge`: comes with a word or a file; `agentskills`: a folder with a SKILL.md. */
export type SkillType = 'agentskills' | 'repo' | 'knowledge'

export function skillType({ is_agentskills_format, trigger }: Skill): SkillType {
  if (is_agentskills_format) return 'agentskills'
  return trigger === null ? 'repo' : 'knowledge'
}

/** The skills of a context that are in force. */
export function skillsInForce(context: AgentContext | null | undefined): Skill[] {
  if (context === null || context === undefined) return []
  const { skills, disabled_skills: disabled } = context
  return disabled.length === 0 ? skills : skills.filter(({ name }) => !disabled.includes(name))
}

/** Whether the model may ask for it by name. */
export const isInvocable = (skill: Skill): boolean =>
  !skill.disable_model_invocation && skill.trigger?.type !== 'path' && skillType(skill) !== 'repo'

/** Whether an agent gets the tool that asks for skills by name: some folder skill is there to be asked for. */
export const hasInvocable = (context: AgentContext | null | undefined): boolean =>
  skillsInForce(context).some((skill) => skill.is_agentskills_format && isInvocable(skill))
