/** Skills in the system prompt: those that always apply in full, the others by name. Pure. Source: agent-core.md 6.4, 9.6. */
import { isInvocable, skillsInForce, skillType, type AgentContext, type Skill } from '@parley/protocol'
import { USER_PREFIX } from './user-instructions.ts'

const MAX_LINE_CHARS = 300

/** Skills that always apply, as one text; empty when there are none. `model` selects the instructions of its vendor. */
export function standingKnowledge(context: AgentContext | null, model: string): string {
  const always = skillsInForce(context).filter((skill) => skillType(skill) === 'repo' && isForModel(skill, model))
  return always.map(({ name, content }) => `## ${name}\n${content.trim()}`).join('\n\n')
}

/** A line for each skill that can be triggered or invoked; empty when there are none. */
export function skillLines(context: AgentContext | null): string {
  return skillsInForce(context)
    .filter(isInvocable)
    .map((skill) => `- ${escaped(skill.name)}: ${escaped(summaryOf(skill))}`)
    .join('\n')
}

/** The path of the file is left out on purpose: the model gets the text by name. */
function summaryOf({ description, content }: Skill): string {
  const line = (description ?? firstLine(content)).replaceAll(/\s+/g, ' ').trim()
  const isFirstLine = description === null
  const more = isFirstLine ? content.trim().length - line.length : 0
  const cut = line.length > MAX_LINE_CHARS ? `${line.slice(0, MAX_LINE_CHARS)}…` : line
  return more > 0 ? `${cut} [${more} more characters]` : cut
}

const firstLine = (text: string): string =>
  text.split('\n').find((line) => line.trim() !== '' && !line.startsWith('#')) ?? ''

/** Instructions named after a vendor are left out for a model that is known to be another vendor's. */
function isForModel({ name }: Skill, model: string): boolean {
  const plain = name.startsWith(USER_PREFIX) ? name.slice(USER_PREFIX.length) : name
  const vendor = plain === 'claude' || plain === 'gemini' ? plain : null
  const family = familyOf(model)
  return vendor === null || family === null || family === vendor
}

const FAMILIES: readonly [RegExp, string][] = [
  [/claude/, 'claude'],
  [/gemini/, 'gemini'],
  [/gpt-|o1|o3|o4/, 'gpt'],
  [/llama/, 'llama'],
  [/mistral/, 'mistral'],
  [/deepseek/, 'deepseek'],
  [/qwen/, 'qwen'],
]

/** Source: agent-core.md 9.7. */
function familyOf(model: string): string | null {
  return FAMILIES.find(([pattern]) => pattern.test(model.toLowerCase()))?.[1] ?? null
}

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
