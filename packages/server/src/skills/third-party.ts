/** Instruction files that several coding agents read, at the root of a project. Source: agent-core.md 6.2. */
import type { Skill } from '@parley/protocol'
import type { Folder } from './folder.ts'
import { instructions } from './skill-file.ts'

const NAMES: Readonly<Record<string, string>> = {
  '.cursorrules': 'cursorrules',
  'agents.md': 'agents',
  'agent.md': 'agents',
  'claude.md': 'claude',
  'gemini.md': 'gemini',
}

/** The names to look for, in small letters. */
export const INSTRUCTION_FILES: readonly string[] = Object.keys(NAMES)

/** The name of the skill that a file of this name is; null when it is no instruction file. */
export const instructionName = (file: string): string | null => NAMES[file.toLowerCase()] ?? null

/**
 * Those at the root of a folder.
 * @param known real paths that were read already: one file under two names, through a link, counts once
 */
export async function instructionsAt(folder: Folder, known: Set<string>): Promise<Skill[]> {
  const found: Skill[] = []
  const entries = (await folder.list('')).filter(({ kind, name }) => kind === 'file' && instructionName(name) !== null)
  const byWeight = entries.toSorted((a, b) => weight(a.name) - weight(b.name))
  for (const { name } of byWeight) {
    const real = await folder.realOf(name)
    if (real === null || known.has(real)) continue
    const text = await folder.read(name)
    if (text === null || text.trim() === '') continue
    known.add(real)
    found.push(instructions({ source: folder.at(name), text, name: instructionName(name)! }))
  }
  return found
}

const ORDER: readonly string[] = ['agents.md', 'agent.md', '.cursorrules', 'claude.md', 'gemini.md']
const weight = (name: string): number => ORDER.indexOf(name.toLowerCase())
