/** A recorded conversation as it can be played: what the model answered, what people said, and what came of each call. */
import type { ImageContent, TextContent } from '@parley/protocol'
import { basename, dirname } from 'node:path'
import type { Outcome } from './outcome.ts'

/** `index` is a place in the recording as it came, from 0. */
export type RecordedResult = { index: number; outcome: Outcome }

export type RecordedCall = {
  index: number
  name: string
  /** JSON text as the model wrote it. */
  arguments: string
  /** What to call instead where there is no tool of that name. */
  fallback?: { name: string; arguments: string }
  /** Null when the recording holds none: then nothing is compared. */
  result: RecordedResult | null
  /** A person or a hook refused it: then it is not performed here either. */
  refusal: { reason: string; source: 'user' | 'hook' } | null
}

export type RecordedTurn =
  | { by: 'user'; index: number; content: (TextContent | ImageContent)[] }
  | { by: 'agent'; index: number; text: string; reasoning: string | null; calls: RecordedCall[] }

export type Recording = {
  /** Where the recorded conversation worked; null when nothing tells. */
  working_dir: string | null
  /** After the message that the conversation begins with. */
  turns: RecordedTurn[]
}

/** Where the older dialect works, with a repository below it. Source: conversation-service.md 1.6. */
export const V0_ROOT = '/workspace'

/** Recorded directories and where they are now, longest first. */
export type Moves = readonly (readonly [from: string, to: string])[]

/** What the recording's paths have become in a conversation that works in `workingDir`. */
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

/** A text with the recorded directories replaced wherever they stand as a path of their own. */
export function movePaths(text: string, moves: Moves): string {
  return moves.reduce((rest, [from, to]) => rest.replaceAll(asPath(from), () => to), text)
}

const asPath = (path: string): RegExp =>
  new RegExp(`(?<![\\w./-])${path.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')}(?![\\w-]|\\.\\w)`, 'g')

/** The same in JSON text; text that is no JSON is taken as it is. */
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
