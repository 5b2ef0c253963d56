import type { ConversationId, ConversationState, Draft, EventId, StoredEvent } from '@parley/protocol'
import type { Cipher } from '../../secrets/index.ts'
import type { Append } from '../../storage/index.ts'
import { batchNote } from '../watch/shown-batches.ts'
import { sealedArguments } from './sealed-arguments.ts'

type Commit = { events: readonly StoredEvent[]; drafts: readonly Draft[]; state: ConversationState }

/** The notes that a commit adds, and the calls and batches whose notes it deletes. */
export function commitNotes(
  id: ConversationId,
  before: ConversationState,
  commit: Commit,
  cipher: Pick<Cipher, 'seal'>,
): Required<Pick<Append, 'notes' | 'settled'>> {
  const sealed = sealedArguments(id, commit, cipher)
  const settled: string[] = settledCalls(before, commit.state)
  const [was, is] = [before.awaiting_approval?.batch_id, commit.state.awaiting_approval?.batch_id]
  if (was === is) return { notes: sealed, settled }
  return {
    notes: is === undefined ? sealed : [...sealed, batchNote(is)],
    settled: was === undefined ? settled : [...settled, was],
  }
}

/** Calls that were open before a commit and are not open after it. */
function settledCalls(before: ConversationState, after: ConversationState): EventId[] {
  const open = new Set(after.open_actions.map(({ id }) => id))
  return before.open_actions.flatMap(({ id }) => (open.has(id) ? [] : [id]))
}
