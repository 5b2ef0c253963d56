/** Reads the store of a server beside it: what is durable, without the server's own reading code and without a request to it. */
import { DatabaseSync } from 'node:sqlite'
import type { Loose } from '../../../packages/server/testing/restartable-server.ts'

export type Stored = { seq: number; event: Loose }

/** `seq` of the newest stored event, by conversation. */
export type Positions = ReadonlyMap<string, number>

export type StoredLogs = Disposable & {
  /** Status as a client would read it; undefined for an unknown conversation. */
  status(id: string): string | undefined
  /** `seq` of the newest stored event; 0 for an unknown conversation. */
  seq(id: string): number
  /** The newest `seq` of every conversation, the oldest conversation first. */
  positions(): Positions
  /** Ids of the sub-agents of a conversation, oldest first. */
  children(id: string): string[]
  /** All events, oldest first. */
  events(id: string): Stored[]
}

/** @param path the file of a store that exists */
export function openStoredLogs(path: string): StoredLogs {
  const db = new DatabaseSync(path, { readOnly: true, timeout: 5_000 })
  const row = db.prepare('SELECT seq, status FROM conversations WHERE id = ?')
  const all = db.prepare('SELECT id, seq FROM conversations ORDER BY n')
  const below = db.prepare('SELECT id FROM conversations WHERE parent_conversation_id = ? ORDER BY n')
  const log = db.prepare(
    'SELECT e.seq, e.event FROM events e JOIN conversations c ON c.n = e.conversation WHERE c.id = ? ORDER BY e.seq',
  )
  return {
    status: (id) => row.get(id)?.['status'] as string | undefined,
    seq: (id) => (row.get(id)?.['seq'] as number | undefined) ?? 0,
    positions: () => new Map(all.all().map(({ id, seq }) => [id as string, seq as number])),
    children: (id) => below.all(id).map((child) => child['id'] as string),
    events: (id) =>
      log.all(id).map(({ seq, event }) => ({ seq: seq as number, event: JSON.parse(event as string) as Loose })),
    [Symbol.dispose]: () => db.close(),
  }
}
