/** Changes to the store of a stopped server, as another version or damage would leave it. */
import { DatabaseSync } from 'node:sqlite'

export type StoredRows = {
  /** Replaces the cached state of a conversation by the result of `change`. */
  changeState(id: string, change: (cached: any) => unknown): void
  /** Appends events to a log without changing the cached state. */
  append(id: string, ...events: readonly { id: string; kind: string; [member: string]: unknown }[]): void
  /** Replaces the text of an event. */
  damage(id: string, seq: number, text: string): void
  /** Removes an event. */
  remove(id: string, seq: number): void
  /** Replaces the record of a conversation. */
  damageRecord(id: string, text: string): void
  /** Removes the cached state. */
  forgetState(id: string): void
  setStatus(id: string, status: string): void
  status(id: string): string
}

/** Opens the store at `path` for one change. */
export function changeRows(path: string, change: (rows: StoredRows) => void): void {
  const database = new DatabaseSync(path)
  const n = (id: string) => database.prepare('SELECT n FROM conversations WHERE id = ?').get(id)!['n'] as number
  try {
    change({
      changeState(id, edit) {
        const { json } = database.prepare('SELECT json FROM states WHERE conversation = ?').get(n(id))!
        const text = JSON.stringify(edit(JSON.parse(json as string)))
        database.prepare('UPDATE states SET json = ? WHERE conversation = ?').run(text, n(id))
      },
      append(id, ...events) {
        for (const event of events) {
          const text = JSON.stringify({ timestamp: '2026-01-01T00:00:00.000000', source: 'environment', ...event })
          database.prepare('UPDATE conversations SET seq = seq + 1 WHERE n = ?').run(n(id))
          database
            .prepare(
              `INSERT INTO events (conversation, seq, id, kind, source, timestamp, event)
               SELECT n, seq, ?, ?, 'environment', '2026-01-01T00:00:00.000000', ? FROM conversations WHERE n = ?`,
            )
            .run(event.id, event.kind, text, n(id))
        }
      },
      damageRecord(id, text) {
        database.prepare('UPDATE records SET record = ? WHERE conversation = ?').run(text, n(id))
      },
      forgetState(id) {
        database.prepare('DELETE FROM states WHERE conversation = ?').run(n(id))
      },
      setStatus(id, status) {
        database.prepare('UPDATE conversations SET status = ? WHERE n = ?').run(status, n(id))
      },
      status: (id) => database.prepare('SELECT status FROM conversations WHERE n = ?').get(n(id))!['status'] as string,
      remove(id, seq) {
        database.prepare('DELETE FROM events WHERE conversation = ? AND seq = ?').run(n(id), seq)
      },
      damage(id, seq, text) {
        database.prepare('UPDATE events SET event = ? WHERE conversation = ? AND seq = ?').run(text, n(id), seq)
      },
    })
  } finally {
    database.close()
  }
}
