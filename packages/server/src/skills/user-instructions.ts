/** Instruction files of other coding agents in the home folder of their user. Source: docs/skills.md, Sources. */
import { basename, dirname, join } from 'node:path'
import type { Skill } from '@parley/protocol'
import { Folder, type Files } from './folder.ts'
import { withImports } from './imports.ts'
import { instructions } from './skill-file.ts'
import { instructionName } from './third-party.ts'

/** Relative to the home folder. */
const FILES = ['.agents/AGENTS.md', '.claude/CLAUDE.md', '.gemini/GEMINI.md']

/** Name of the skill of a user's instruction file that is named like one of a project. */
export const USER_PREFIX = 'user:'

/** @param home not confined: the owner of the home folder may link to other places */
export async function userInstructions(home: Folder, files: Files, signal: AbortSignal): Promise<Skill[]> {
  const found: Skill[] = []
  const known = new Set<string>()
  for (const path of FILES) {
    const real = await home.realOf(path)
    if (real === null || known.has(real)) continue
    known.add(real)
    const own = await home.read(path)
    if (own === null || own.trim() === '') continue
    // What such a file imports comes from its own folder.
    const folder = await Folder.open(files, join(home.root, dirname(path)), signal)
    const { text, paths } =
      folder === null
        ? { text: own, paths: [] }
        : await withImports(folder, basename(path), own, { skip: known, home: home.root })
    home.notes.push(...(folder?.notes ?? []))
    const name = `${USER_PREFIX}${instructionName(basename(path))}`
    found.push(instructions({ source: home.at(path), text, name, hasImports: paths.length > 0 }))
  }
  return found
}
