/** Records of conversations in a data directory that has another path than before. */
import { join } from 'node:path'
import { parseRecord, relativeInside } from '../../lib/index.ts'

/**
 * The record of a conversation with its paths below one of `from`, such as its working directory, moved below `to`. So a copy of a
 * data directory never works in the folders of the original.
 * @param record JSON text; sealed values are no paths and stay as they are, and so does a record that cannot be read
 */
export function movedRecord(record: string, from: readonly string[], to: string): string {
  const move = (value: unknown): unknown => {
    if (typeof value === 'string') return moved(value, from, to)
    if (Array.isArray(value)) return value.map(move)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, move(member)]))
  }
  const members = parseRecord(record)
  return members === null ? record : JSON.stringify(move(members))
}

function moved(path: string, from: readonly string[], to: string): string {
  for (const old of from) {
    if (!path.startsWith(old)) continue
    const below = relativeInside(old, path)
    if (below !== null) return join(to, below)
  }
  return path
}
