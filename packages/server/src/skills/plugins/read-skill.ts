/** One skill of a folder that is not named after it, such as a clone. Source: agent-core.md 6.2. */
import { join } from 'node:path'
import { ParleyError, type Skill } from '@parley/protocol'
import { skillIn } from '../discover.ts'
import { Folder, type Files } from '../folder.ts'
import { readFrontmatter } from '../frontmatter.ts'

/**
 * @param of `below`: the skill's folder within `path`; `called`: its name when its front matter has none
 * @throws ParleyError `not_found` when there is no such folder, or no skill in it, `invalid_input` for a skill that is written wrongly.
 */
export async function readSkill(
  files: Files,
  { path, below, called }: { path: string; below: string; called: string },
  signal: AbortSignal,
): Promise<{ skill: Skill; root: string; notes: string[] }> {
  const outer = await Folder.open(files, path, signal)
  const isInside = outer !== null && (await outer.realOf(below)) !== null
  const folder = isInside ? await Folder.open(files, join(path, below), signal) : null
  if (folder === null) throw new ParleyError('not_found', `there is no folder ${join(path, below)} that may be read`)
  const entries = await folder.list('')
  const main = entries.find(({ name, kind }) => kind === 'file' && name.toLowerCase() === 'skill.md')?.name
  const text = main === undefined ? null : await folder.read(main)
  if (main === undefined || text === null)
    throw new ParleyError('not_found', `${folder.root} has no SKILL.md that may be read`)
  const { data } = await readFrontmatter(text)
  const own = typeof data['name'] === 'string' && data['name'].trim() !== '' ? data['name'].trim() : called
  const skill = await skillIn(folder, '', main, own)
  if (skill === null) throw new ParleyError('not_found', `${folder.at(main)} cannot be read`)
  return { skill, root: folder.root, notes: folder.notes }
}
