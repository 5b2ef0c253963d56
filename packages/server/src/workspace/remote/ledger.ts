import type { LedgerEntry } from '../workspace.ts'
import type { RemoteHands } from './hands.ts'
import type { Note, Notes } from './notes.ts'

/** What became of calls, from the notes of this side and the jobs of the other. Asks nobody about calls that were never sent. */
export async function ledgerOf(
  callIds: readonly string[],
  hands: RemoteHands,
  notes: Notes,
  signal: AbortSignal,
): Promise<Record<string, LedgerEntry>> {
  const entries: Record<string, LedgerEntry> = {}
  for (const id of callIds) {
    const note = await notes.of(id)
    entries[id] = note === null ? { state: 'absent' } : await entryOf(note, hands, signal)
  }
  return entries
}

async function entryOf(note: Note, hands: RemoteHands, signal: AbortSignal): Promise<LedgerEntry> {
  const { token } = await hands.greet(signal)
  // A new folder under the same name: the other machine was replaced, and what ran there with it.
  if (token !== note.token) return { state: 'unknown' }
  const { state, number } = await hands.look(note.job, { from: note.from, waitMs: 0, isOutputWanted: false }, signal)
  const started_at = note.at
  switch (state) {
    case 'running':
      return { state, pid: number, started_at }
    case 'exited':
      return { state, exit_code: number, signal: null, started_at, ended_at: new Date().toISOString() }
    case 'gone':
      return { state: 'unknown' }
    case 'ready':
    case 'absent':
      return { state: 'absent' }
  }
}
