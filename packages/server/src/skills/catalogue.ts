/** Skills of a conversation and their origins. Pure. Source: agent-core.md 6.3. */
import type { Skill } from '@parley/protocol'

/** Bytes of all skills that a start adds; they are stored with the conversation. */
const MAX_LOADED_BYTES = 512 * 1024

/** Origin of a skill: the request, the user's home, the project or a plugin. */
export type SkillOrigin = 'request' | 'user' | 'project' | 'plugin'

export type SkillSources = {
  request: readonly Skill[]
  user: readonly Skill[]
  project: readonly Skill[]
  /** In the order in which the plugins were named; later ones take precedence. */
  plugin: readonly Skill[]
}

export type SkillCatalogue = {
  skills: Skill[]
  /** By name, for skills that are not from the request. */
  origins: Record<string, Exclude<SkillOrigin, 'request'>>
  notes: string[]
}

/** Merges the sources in the order user, request, project, plugins, and then removes disabled skills. */
export function catalogue(sources: SkillSources, disabled: readonly string[]): SkillCatalogue {
  const byName = new Map<string, { skill: Skill; origin: SkillOrigin }>()
  for (const origin of ['user', 'request', 'project', 'plugin'] as const) {
    for (const skill of sources[origin]) {
      // A replaced skill keeps its position.
      byName.set(skill.name, { skill, origin })
    }
  }
  const kept: SkillCatalogue = { skills: [], origins: {}, notes: [] }
  let bytes = 0
  for (const { skill, origin } of byName.values()) {
    if (disabled.includes(skill.name)) continue
    if (origin !== 'request') {
      bytes += byteLength(skill.content)
      if (bytes > MAX_LOADED_BYTES) {
        bytes -= byteLength(skill.content)
        kept.notes.push(`${skill.name}: left out, because skills would hold more than ${MAX_LOADED_BYTES} bytes`)
        continue
      }
      kept.origins[skill.name] = origin
    }
    kept.skills.push(skill)
  }
  return kept
}

const byteLength = (text: string): number => Buffer.byteLength(text)
