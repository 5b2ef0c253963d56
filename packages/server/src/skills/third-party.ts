/** Instruction files of other coding agents at the root of a project. Source: agent-core.md 6.2. */
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

/** File names, in lower case. */
export const INSTRUCTION_FILES: readonly string[] = Object.keys(NAMES)

/** Name of the skill that an instruction file becomes; null for other files. */
export const instructionName = (file: string): string | null => NAMES[file.toLowerCase()] ?? null

/**
 * Instruction files at the root of a folder.
 * @param known real paths that were already read, so that a file with two names through a link counts once
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
