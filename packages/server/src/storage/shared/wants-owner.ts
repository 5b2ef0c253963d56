import type { Append } from '../contract/conversations.ts'

/** The stored `wants_owner` after a change of columns; null: it stays. */
export function wantsOwnerAfter(row: Append['row']): boolean | null {
  if (row?.wants_owner !== undefined) return row.wants_owner
  return row?.status === undefined ? null : row.status === 'running'
}
