/** Discovery of skills in a project and in a home folder. Source: agent-core.md 6.2, 6.3. */
import { dirname, join, relative } from 'node:path'
import { ParleyError, type Skill, type SkillResources } from '@parley/protocol'
import { RefusedPath, type Workspace } from '../workspace/index.ts'
import { Folder, plainPath, type Files } from './folder.ts'
import { nestedInstructions } from './nested.ts'
import { instructionName, instructionsAt } from './third-party.ts'
import { readSkillFile, readSkillFolder } from './skill-file.ts'
import { userInstructions } from './user-instructions.ts'

/** Skills in order of precedence, and notes on files that were left out. */
export type FoundSkills = { skills: Skill[]; notes: string[] }

/** Relative to a project or a home folder, in order of precedence. */
const SKILL_FOLDERS = ['.agents/skills', '.openhands/skills', '.openhands/microagents', '.claude/skills'] as const
const RESOURCE_FOLDERS = ['scripts', 'references', 'assets'] as const
const MAX_DEPTH = 6
const MAX_RESOURCES = 200
/** Levels above the working directory that are searched for the root of a repository. */
const MAX_ABOVE = 20

/** Instruction files and skills of a home folder. */
export async function userSkills(files: Files, home: string, signal: AbortSignal): Promise<FoundSkills> {
  // Not confined: the owner of the home folder may link to other places.
  const folder = await Folder.open(files, home, signal, { isConfined: false })
  if (folder === null) return { skills: [], notes: [] }
  const skills = await userInstructions(folder, files, signal)
  for (const path of SKILL_FOLDERS) skills.push(...(await skillsIn(folder, path)))
  return { skills: firstOfEach(skills), notes: folder.notes }
}

/** Skills of a project: from its working directory, then from the root of its repository. */
export async function projectSkills(
  workspace: Files & Pick<Workspace, 'exec' | 'directory'>,
  workingDir: string,
  signal: AbortSignal,
): Promise<FoundSkills> {
  const here = await Folder.open(workspace, workingDir, signal)
  if (here === null) return { skills: [], notes: [] }
  const found = await repositoryRoot(workspace, here.root, signal)
  const repository = found === null || (await isReachable(workspace, found)) ? found : null
  const above =
    repository === null || repository === here.root ? null : await Folder.open(workspace, repository, signal)
  const folders = above === null ? [here] : [here, above]
  const known = { read: new Set<string>(), always: new Set<string>() }
  const instructions: Skill[] = []
  const own: Skill[] = []
  for (const folder of folders) {
    instructions.push(...(await instructionsAt(folder, known)))
    for (const path of SKILL_FOLDERS) own.push(...(await skillsIn(folder, path)))
  }
  // Last, because a large project may use up the limit on reads of a folder.
  const nested = await nestedInstructions(workspace, here, { isRepository: repository !== null, known }, signal)
  const skills = firstOfEach([...instructions, ...nested, ...own])
  return { skills, notes: folders.flatMap(({ notes }) => notes) }
}

/** The skills of one folder. An invalid file is noted and left out. */
export async function skillsIn(folder: Folder, path: string): Promise<Skill[]> {
  const found: Skill[] = []
  await walk(folder, path, path, found, 0)
  return found
}

async function walk(folder: Folder, top: string, path: string, found: Skill[], depth: number): Promise<void> {
  if (depth > MAX_DEPTH) return
  const entries = await folder.list(path)
  const main = entries.find(({ name, kind }) => kind === 'file' && name.toLowerCase() === 'skill.md')
  if (main !== undefined && path !== top) {
    const own = path.slice(path.lastIndexOf('/') + 1)
    const skill = await leniently(folder, join(path, main.name), () => skillIn(folder, path, main.name, own))
    if (skill !== null) found.push(skill)
    return
  }
  for (const { name, kind } of entries) {
    const at = join(path, name)
    if (kind === 'directory' && name !== 'node_modules' && name !== '.git')
      await walk(folder, top, at, found, depth + 1)
    if (kind !== 'file' || !/\.md$/i.test(name) || /^(?:readme|skill)\.md$/i.test(name)) continue
    if (instructionName(name) !== null) continue
    const skill = await leniently(folder, at, async () => {
      const text = await folder.read(at)
      const own = plainPath(relative(top, at)).replace(/\.md$/i, '')
      return text === null ? null : readSkillFile({ source: folder.at(at), text, name: own }, folder.notes)
    })
    if (skill !== null) found.push(skill)
  }
}

/** The skill of a folder with this main file. @throws ParleyError `invalid_input` */
export async function skillIn(folder: Folder, path: string, main: string, name: string): Promise<Skill | null> {
  const text = await folder.read(join(path, main))
  if (text === null) return null
  const file = { source: folder.at(join(path, main)), text, name }
  const mcp = await folder.read(join(path, '.mcp.json'))
  return readSkillFolder(file, { resources: await resourcesOf(folder, path), mcp }, folder.notes)
}

async function resourcesOf(folder: Folder, path: string): Promise<SkillResources> {
  const names = new Set((await folder.list(path)).map(({ name }) => name))
  const listed = async (kind: string): Promise<string[]> => {
    const files: string[] = []
    const look = async (at: string, depth: number): Promise<void> => {
      for (const entry of await folder.list(at)) {
        if (files.length >= MAX_RESOURCES) return
        const below = join(at, entry.name)
        if (entry.kind === 'file') files.push(plainPath(relative(join(path, kind), below)))
        if (entry.kind === 'directory' && depth < 3) await look(below, depth + 1)
      }
    }
    if (names.has(kind)) await look(join(path, kind), 0)
    return files
  }
  const [scripts, references, assets] = [
    await listed(RESOURCE_FOLDERS[0]),
    await listed(RESOURCE_FOLDERS[1]),
    await listed(RESOURCE_FOLDERS[2]),
  ]
  return { skill_root: folder.at(path), scripts, references, assets }
}

/** Notes an invalid file instead of throwing. */
async function leniently(folder: Folder, path: string, read: () => Promise<Skill | null>): Promise<Skill | null> {
  try {
    return await read()
  } catch (error) {
    if (!(error instanceof ParleyError)) throw error
    folder.note(path, error.message)
    return null
  }
}

/** The nearest folder, at or above `from`, that contains `.git`. */
async function repositoryRoot(files: Files, from: string, signal: AbortSignal): Promise<string | null> {
  for (let at = from, steps = 0; steps < MAX_ABOVE; at = dirname(at), steps++) {
    const stat = await files.stat(join(at, '.git'), signal).catch(() => null)
    signal.throwIfAborted()
    if (stat !== null) return at
    if (dirname(at) === at) return null
  }
  return null
}

/** False for the root of a repository that the owner's requests may not reach, such as a home that is one. */
async function isReachable(workspace: Pick<Workspace, 'directory'>, root: string): Promise<boolean> {
  try {
    await workspace.directory?.(root, [])
    return true
  } catch (error) {
    if (error instanceof RefusedPath) return false
    throw error
  }
}

/** The skills without those whose name an earlier one has. */
function firstOfEach(skills: readonly Skill[]): Skill[] {
  const known = new Set<string>()
  return skills.filter(({ name }) => !known.has(name) && known.add(name))
}
