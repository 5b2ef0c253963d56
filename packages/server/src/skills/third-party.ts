/** Instruction files of other coding agents at the root of a project. Source: agent-core.md 6.2. */
import { join } from 'node:path'
import { ParleyError, type Skill, type SkillTrigger } from '@parley/protocol'
import type { Folder } from './folder.ts'
import { readFrontmatter } from './frontmatter.ts'
import { withImports } from './imports.ts'
import { instructions, MAX_INSTRUCTION_BYTES } from './skill-file.ts'

const COPILOT = '.github/copilot-instructions.md'
const CURSOR_RULES = '.cursor/rules'
const MAX_RULES = 50

const NAMES: Readonly<Record<string, string>> = {
  '.cursorrules': 'cursorrules',
  'agents.md': 'agents',
  'agent.md': 'agents',
  'claude.md': 'claude',
  'gemini.md': 'gemini',
}

/** Names of those whose mentions of files are imports. */
const IMPORTING = new Set(['agents', 'claude', 'gemini'])
/** Names of those that every model gets. */
const FOR_ALL = new Set(['agents', 'cursorrules'])

/** File names, in lower case. */
export const INSTRUCTION_FILES: readonly string[] = Object.keys(NAMES)

/** Name of the skill that an instruction file becomes; null for other files. */
export const instructionName = (file: string): string | null => NAMES[file.toLowerCase()] ?? null

/** Real paths of instruction files. */
export type KnownFiles = {
  /** Those that were read, so that a file with two names through a link counts once. */
  read: Set<string>
  /** Those that are in every prompt, so that an import of one adds nothing. */
  always: Set<string>
}

/** Instruction files at the root of a folder. */
export async function instructionsAt(folder: Folder, known: KnownFiles): Promise<Skill[]> {
  const found: Skill[] = []
  const entries = (await folder.list('')).filter(({ kind, name }) => kind === 'file' && instructionName(name) !== null)
  const byWeight = entries.toSorted((a, b) => weight(a.name) - weight(b.name))
  for (const { name } of byWeight) {
    const skill = await readInstructions(folder, { path: name, name: instructionName(name)! }, known)
    if (skill !== null) found.push(skill)
  }
  const copilot = await readInstructions(folder, { path: COPILOT, name: 'copilot' }, known)
  if (copilot !== null) found.push(copilot)
  return [...found, ...(await cursorRules(folder, known))]
}

/** An instruction file with its imports; null when there is none, or when it was read under another name. */
export async function readInstructions(
  folder: Folder,
  { path, name }: { path: string; name: string },
  known: KnownFiles,
  trigger: SkillTrigger | null = null,
): Promise<Skill | null> {
  const own = await readNew(folder, path, known)
  if (own === null) return null
  const kind = name.split(':')[0]!
  const { text, paths } = IMPORTING.has(kind)
    ? await withImports(folder, path, own.text, { skip: known.always })
    : { text: own.text, paths: [] }
  if (FOR_ALL.has(kind) && trigger === null)
    for (const real of [own.real, ...paths]) {
      known.read.add(real)
      known.always.add(real)
    }
  noteLength(folder, path, text)
  return instructions({ source: folder.at(path), text, name, hasImports: paths.length > 0 }, trigger)
}

/** The text of an instruction file that was not read under another name; null when there is none. */
async function readNew(
  folder: Folder,
  path: string,
  known: KnownFiles,
): Promise<{ text: string; real: string } | null> {
  const real = await folder.realOf(path)
  if (real === null || known.read.has(real)) return null
  const text = await folder.read(path)
  if (text === null || text.trim() === '') return null
  known.read.add(real)
  return { text, real }
}

function noteLength(folder: Folder, path: string, text: string): void {
  if (Buffer.byteLength(text.trim()) > MAX_INSTRUCTION_BYTES)
    folder.note(path, `only its first ${MAX_INSTRUCTION_BYTES} bytes are used`)
}

/** Rules of Cursor that always apply, or that name files. Others, which its user chooses by hand, are left out. */
async function cursorRules(folder: Folder, known: KnownFiles): Promise<Skill[]> {
  const files = (await folder.list(CURSOR_RULES)).filter(({ kind, name }) => kind === 'file' && /\.mdc?$/i.test(name))
  if (files.length > MAX_RULES) folder.note(CURSOR_RULES, `only ${MAX_RULES} of ${files.length} rules were read`)
  const found: Skill[] = []
  for (const { name: file } of files.slice(0, MAX_RULES)) {
    const path = join(CURSOR_RULES, file)
    const rule = await readNew(folder, path, known)
    if (rule === null) continue
    noteLength(folder, path, rule.text)
    try {
      const { data, body } = await readFrontmatter(rule.text)
      const { alwaysApply, globs } = data
      const named: unknown[] = Array.isArray(globs) ? globs : typeof globs === 'string' ? globs.split(',') : []
      const paths = named.flatMap((glob) => (typeof glob === 'string' && glob.trim() !== '' ? [glob.trim()] : []))
      if (body.trim() === '' || (alwaysApply !== true && paths.length === 0)) continue
      const name = `cursor:${file.replace(/\.mdc?$/i, '')}`
      const trigger = alwaysApply === true ? null : { type: 'path' as const, paths }
      const skill = instructions({ source: folder.at(path), text: body, name }, trigger)
      found.push({ ...skill, disable_model_invocation: true })
    } catch (error) {
      if (!(error instanceof ParleyError)) throw error
      folder.note(path, error.message)
    }
  }
  return found
}

const ORDER: readonly string[] = ['agents.md', 'agent.md', '.cursorrules', 'claude.md', 'gemini.md']
const weight = (name: string): number => ORDER.indexOf(name.toLowerCase())
