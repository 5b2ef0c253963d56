/**
 * Requests that are alike become one entry with a count, so that a flood of them displaces no other entry. Pure, apart from its memory.
 *
 * A refused request changed nothing, so all that are alike share an entry. Requests that took effect have entries of their own, up to a
 * number that only a program exceeds.
 */
import type { AuditEntry } from '../contract/access.ts'

/** Milliseconds from the first request of an entry to the last one that it counts. */
const WINDOW_MS = 3_600_000
/** Entries of successful requests that are alike, within one window. */
const SINGLES = 100
/** Groups that are remembered. Beyond that, the oldest are forgotten, and their next request begins an entry. */
const MAX_GROUPS = 10_000

/** An entry that may still count more requests. `id`: null until it is stored. */
export type OpenEntry = AuditEntry & { id: number | null }

type Group = { since: number; entries: number; shared: OpenEntry | null }

export class Folding {
  readonly #groups = new Map<string, Group>()

  /**
   * The entry for a request: a new one, or an earlier one with a higher count.
   * @param now milliseconds of the time in `entry`
   */
  take(entry: AuditEntry, now: number): { entry: OpenEntry; isNew: boolean } {
    const { user, key_id, action, status, subject, detail } = entry
    const key = JSON.stringify([user, key_id, action, status, subject, detail])
    const isRefused = status >= 400
    let group = this.#groups.get(key)
    if (group === undefined || now - group.since >= WINDOW_MS) {
      this.#groups.delete(key)
      group = { since: now, entries: 0, shared: null }
      this.#groups.set(key, group)
      this.#forget()
    }
    if (group.shared !== null) {
      const { shared } = group
      shared.count += 1
      shared.until = entry.at
      if (shared.conversation_id !== entry.conversation_id) shared.conversation_id = null
      return { entry: shared, isNew: false }
    }
    group.entries += 1
    const made: OpenEntry = { ...entry, id: null }
    if (isRefused || group.entries > SINGLES) group.shared = made
    return { entry: made, isNew: true }
  }

  #forget(): void {
    if (this.#groups.size <= MAX_GROUPS) return
    const [oldest] = this.#groups.keys()
    if (oldest !== undefined) this.#groups.delete(oldest)
  }
}
