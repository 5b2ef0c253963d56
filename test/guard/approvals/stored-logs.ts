/** Reads the store of a server beside it: what is durable, without the server's own reading code and without a request to it. */
import { DatabaseSync } from 'node:sqlite'
import type { Loose } from '../../../packages/server/testing/restartable-server.ts'

export type Stored = { seq: number; event: Loose }

/** `seq` of the newest stored event, by conversation. */
export type Positions = ReadonlyMap<string, number>

export type StoredLogs = Disposable & {
  /** A number that changes with every commit of the server. */
  version(): number
  /** Status as a client would read it; undefined for an unknown conversation. */
  status(id: string): string | undefined
  /** `seq` of the newest stored event; 0 for an unknown conversation. */
  seq(id: string): number
  /** The newest `seq` of every conversation, the oldest conversation first. */
  positions(): Positions
  /** Ids of the sub-agents of a conversation, oldest first. */
  children(id: string): readonly string[]
  /** All events, oldest first. */
  events(id: string): Stored[]
}

/** The rows of all conversations after one commit. */
type Rows = {
  version: number
  status: ReadonlyMap<string, string>
  seq: Positions
  children: ReadonlyMap<string, readonly string[]>
}

/** @param path the file of a store that exists */
export function openStoredLogs(path: string): StoredLogs {
  const db = new DatabaseSync(path, { readOnly: true, timeout: 5_000 })
  const dataVersion = db.prepare('PRAGMA data_version')
  const all = db.prepare('SELECT id, seq, status, parent_conversation_id AS parent FROM conversations ORDER BY n')
  const log = db.prepare(
    'SELECT e.seq, e.event FROM events e JOIN conversations c ON c.n = e.conversation WHERE c.id = ? ORDER BY e.seq',
  )
  const version = (): number => dataVersion.get()!['data_version'] as number
  let last: Rows | null = null

  /** Many sequences ask after each commit, and the rows are read once for all of them. */
  function rows(): Rows {
    const now = version()
    if (last?.version === now) return last
    const [status, seq, children] = [new Map<string, string>(), new Map<string, number>(), new Map<string, string[]>()]
    for (const row of all.all() as { id: string; seq: number; status: string; parent: string | null }[]) {
      status.set(row.id, row.status)
      seq.set(row.id, row.seq)
      if (row.parent !== null) children.set(row.parent, [...(children.get(row.parent) ?? []), row.id])
    }
    last = { version: now, status, seq, children }
    return last
  }

  return {
    version,
    status: (id) => rows().status.get(id),
    seq: (id) => rows().seq.get(id) ?? 0,
    positions: () => rows().seq,
    children: (id) => rows().children.get(id) ?? [],
    events: (id) =>
      log.all(id).map(({ seq, event }) => ({ seq: seq as number, event: JSON.parse(event as string) as Loose })),
    [Symbol.dispose]: () => db.close(),
  }
}

/** Removes the sealed arguments of open calls from a store that no server uses. */
export function loseArguments(path: string): void {
  const db = new DatabaseSync(path)
  try {
    db.exec("DELETE FROM notes WHERE kind = 'arguments'")
  } finally {
    db.close()
  }
}
