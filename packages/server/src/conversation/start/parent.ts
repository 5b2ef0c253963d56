import { resolve } from 'node:path'
import { type ConversationId, invalidInput, type ParleyError } from '@parley/protocol'
import type { ConversationRow } from '../../storage/index.ts'
import type { Actor, StartRequest } from '../conversations.ts'
import { remoteOf, type ConversationRecord } from '../record/record.ts'

/** Lookup of conversations that may be parents. */
export type ParentLookup = {
  get: (id: ConversationId) => Promise<ConversationRow | null>
  readRecord: (text: string) => ConversationRecord
}

/**
 * Checks that a new conversation may name its parent: one of the same user, in the same directory, that does not descend from it.
 * A request whose conversation exists already is not checked. Source: agent-server-wire.md 1.4.
 * @throws ParleyError `invalid_input`; another user's conversation is reported as unknown.
 */
export async function expectParent(
  request: StartRequest,
  actor: Actor,
  { get, readRecord }: ParentLookup,
): Promise<void> {
  const { parent_conversation_id: parent, conversation_id: id } = request
  if (parent === null || parent === undefined) return
  if (parent === id) throw refused('A conversation cannot be its own parent')
  if (id !== undefined && (await get(id)) !== null) return
  const row = await get(parent)
  if (row === null || row.owner !== actor.user) throw refused(`Parent conversation not found: ${parent}`)
  if (!isSamePlace(request, readRecord(row.record)))
    throw refused(
      `The conversation has a different workspace than its parent ${parent}; give the working_dir of the parent`,
    )
  // The id may belong to a deleted conversation whose descendants still exist.
  if (id !== undefined && (await descends(row, id, get)))
    throw refused(`The parent conversation ${parent} comes from this conversation_id; choose another id`)
}

/** A worktree counts as the directory of its repository. */
function isSamePlace(request: StartRequest, parent: ConversationRecord): boolean {
  if ((request.remote?.host ?? null) !== (remoteOf(parent.workspace)?.host ?? null)) return false
  const absolute = (dirs: (string | undefined)[]) => dirs.flatMap((dir) => (dir === undefined ? [] : resolve(dir)))
  // The record of a conversation of version 0.1.0 may hold a relative path.
  const here = absolute([request.working_dir, request.worktree?.source])
  return absolute([parent.workspace.working_dir, parent.worktree?.source]).some((dir) => here.includes(dir))
}

async function descends(row: ConversationRow, from: ConversationId, get: ParentLookup['get']): Promise<boolean> {
  const seen = new Set<ConversationId>()
  for (let above = row.parent_conversation_id; above !== null && !seen.has(above);) {
    if (above === from) return true
    seen.add(above)
    above = (await get(above))?.parent_conversation_id ?? null
  }
  return false
}

const refused = (text: string): ParleyError => invalidInput(`${text}.`, ['parent_conversation_id'])
