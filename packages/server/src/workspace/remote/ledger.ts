import { UnreadableNote } from '../call-notes.ts'
import type { LedgerEntry } from '../workspace.ts'
import type { RemoteExecutor } from './remote-executor.ts'
import type { Note } from './note.ts'
import type { Notes } from './notes.ts'

/** State of calls, from the notes of this server and the jobs of the other one. Calls that were never sent need no request. */
export async function callStates(
  callIds: readonly string[],
  executor: RemoteExecutor,
  notes: Notes,
  signal: AbortSignal,
): Promise<Record<string, LedgerEntry>> {
  const entries: Record<string, LedgerEntry> = {}
  for (const id of callIds) {
    const note = await noteOf(id, notes)
    if (note === 'unreadable') entries[id] = { state: 'unknown' }
    else if (note !== null) entries[id] = await entryOf(note, executor, signal)
    else entries[id] = { state: (await notes.areComplete()) ? 'absent' : 'unknown' }
  }
  return entries
}

async function noteOf(id: string, notes: Notes): Promise<Note | null | 'unreadable'> {
  try {
    return await notes.of(id)
  } catch (error) {
    if (error instanceof UnreadableNote) return 'unreadable'
    throw error
  }
}

async function entryOf(note: Note, executor: RemoteExecutor, signal: AbortSignal): Promise<LedgerEntry> {
  const { token, look } = await executor.inspect(note.job, note.from, signal)
  // A new folder with the same name: the other machine was replaced, and its processes are lost.
  if (token !== note.token) return { state: 'unknown' }
  const { state, number } = look
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
