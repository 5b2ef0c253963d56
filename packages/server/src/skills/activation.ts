/** Skills that a message or a file adds to the model's knowledge. Pure. Source: agent-core.md 6.4. */
import { skillsInForce, type AgentContext, type Skill } from '@parley/protocol'
import { relativeInside } from '../lib/index.ts'
import { plainPath } from './folder.ts'
import { isAbout, wordFor } from './triggers.ts'

/** `text`: for the model, after the message; null: nothing. `names`: names of the skills in it. */
export type AddedKnowledge = { text: string | null; names: string[] }

const NOTHING: AddedKnowledge = { text: null, names: [] }

/**
 * Skills that the words of a message trigger.
 * @param active names of the skills that the model has already been given
 */
export function skillsForMessage(
  context: AgentContext | null,
  words: string,
  active: readonly string[],
): AddedKnowledge {
  if (context === null) return NOTHING
  const query = words.trim()
  const matched = query === '' ? [] : skillsInForce(context).flatMap((skill) => given(skill, query, active))
  const texts = [
    context.user_message_prefix?.trim() ?? '',
    ...matched.map(({ text }) => text),
    context.user_message_suffix?.trim() ?? '',
  ].filter((text) => text !== '')
  return { text: texts.length === 0 ? null : texts.join('\n\n'), names: matched.map(({ name }) => name) }
}

function given(skill: Skill, query: string, active: readonly string[]): { name: string; text: string }[] {
  if (active.includes(skill.name)) return []
  const word = wordFor(skill, query)
  if (word === null) return []
  return [{ name: skill.name, text: block(skill, `The message above contains "${word}", so this may be of use.`) }]
}

/**
 * Rules for a file that a tool was called for.
 * @param path absolute, or relative to the working directory
 * @param active names of the rules that the model has already been given
 */
export function skillsForFile(
  context: AgentContext | null,
  path: string,
  { workingDir, active }: { workingDir: string; active: readonly string[] },
): AddedKnowledge {
  if (context === null || !context.skills.some(({ trigger }) => trigger?.type === 'path')) return NOTHING
  const below = relativeInside(workingDir, path)
  if (below === null || below === '') return NOTHING
  const rules = skillsInForce(context).filter(
    (skill) => !active.includes(skill.name) && isAbout(skill, plainPath(below)),
  )
  if (rules.length === 0) return NOTHING
  const texts = rules.map((skill) => block(skill, `This holds for ${plainPath(below)}.`))
  return { text: texts.join('\n\n'), names: rules.map(({ name }) => name) }
}

function block(skill: Skill, why: string): string {
  const place = skill.resources?.skill_root
  const where = place === undefined ? '' : ` Files that it speaks of are in ${place}.`
  return `<skill name="${attribute(skill.name)}">\n${why}${where}\n\n${skill.content.trim()}\n</skill>`
}

const attribute = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')
