/** What a message, or a touched file, brings to the model's knowledge. Pure. Source: agent-core.md 6.4. */
import { isAbsolute, relative, resolve, sep } from 'node:path'
import { skillsInForce, type AgentContext, type Skill } from '@parley/protocol'
import { plainPath } from './folder.ts'
import { isAbout, wordFor } from './triggers.ts'

/** `text`: for the model, behind the message; null: nothing. `names`: of the skills in it. */
export type Brought = { text: string | null; names: string[] }

const NOTHING: Brought = { text: null, names: [] }

/**
 * What the words of a message bring.
 * @param active names of the skills that the model has been given already
 */
export function heard(context: AgentContext | null, words: string, active: readonly string[]): Brought {
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
 * What a file brings that a tool was called for.
 * @param path absolute, or relative to the working directory
 * @param active names of the rules that the model has been given already
 */
export function touched(
  context: AgentContext | null,
  path: string,
  { workingDir, active }: { workingDir: string; active: readonly string[] },
): Brought {
  if (context === null || !context.skills.some(({ trigger }) => trigger?.type === 'path')) return NOTHING
  const below = relative(workingDir, resolve(workingDir, path))
  if (below === '' || below === '..' || below.startsWith(`..${sep}`) || isAbsolute(below)) return NOTHING
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
