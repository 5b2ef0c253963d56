/** Maps paths of a recording to the directory of the conversation that replays it. Pure. */
import { basename, dirname } from 'node:path'
import { V0_ROOT, type Recording } from './recording.ts'

/** Recorded directories and their replacements, longest first. */
export type Moves = readonly (readonly [from: string, to: string])[]

/** The replacements for a conversation with the working directory `workingDir`. */
export function movesTo({ working_dir, turns }: Recording, workingDir: string): Moves {
  if (working_dir === null || working_dir === workingDir || working_dir === '/') return []
  const clone = `${V0_ROOT}/${basename(workingDir)}`
  if (working_dir === V0_ROOT && JSON.stringify(turns).includes(clone)) {
    return [
      [clone, workingDir],
      [V0_ROOT, dirname(workingDir)],
    ]
  }
  return [[working_dir, workingDir]]
}

/** Replaces the recorded directories in a text, wherever they are a whole path or its beginning. */
export function movePaths(text: string, moves: Moves): string {
  return moves.reduce((rest, [from, to]) => rest.replaceAll(asPath(from), () => to), text)
}

const asPath = (path: string): RegExp =>
  new RegExp(`(?<![\\w./-])${path.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')}(?![\\w-]|\\.\\w)`, 'g')

/** The same for the strings of a JSON text; other text is treated as plain text. */
export function moveInJson(text: string, moves: Moves): string {
  if (moves.length === 0) return text
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return movePaths(text, moves)
  }
  return JSON.stringify(moveIn(value, moves))
}

function moveIn(value: unknown, moves: Moves): unknown {
  if (typeof value === 'string') return movePaths(value, moves)
  if (Array.isArray(value)) return value.map((item) => moveIn(item, moves))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, moveIn(member, moves)]))
}
