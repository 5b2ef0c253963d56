/** Which skills a conversation has, and where each came from. Pure. Source: agent-core.md 6.3. */
import type { Skill } from '@parley/protocol'

/** Bytes of all skills that a start adds: they are kept with the conversation. */
const MAX_LOADED_BYTES = 512 * 1024

/** Where a skill came from: the request itself, the user's home, the project, or a plugin. */
export type Origin = 'request' | 'user' | 'project' | 'plugin'

export type Sources = {
  request: readonly Skill[]
  user: readonly Skill[]
  project: readonly Skill[]
  /** In the order the plugins were named; later ones win. */
  plugin: readonly Skill[]
}

export type Catalogue = {
  skills: Skill[]
  /** By the names of skills that the request did not bring itself. */
  origins: Record<string, Exclude<Origin, 'request'>>
  notes: string[]
}

/** Joins the sources: user, then request, then project, then plugins; what is disabled goes last of all. */
export function catalogue(sources: Sources, disabled: readonly string[]): Catalogue {
  const byName = new Map<string, { skill: Skill; origin: Origin }>()
  for (const origin of ['user', 'request', 'project', 'plugin'] as const) {
    for (const skill of sources[origin]) {
      // A name that is given anew stands where it stood.
      byName.set(skill.name, { skill, origin })
    }
  }
  const kept: Catalogue = { skills: [], origins: {}, notes: [] }
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
