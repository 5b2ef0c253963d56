/** The stored events that a socket requests before live ones. `after_seq` is Parley's own. Source: agent-server-wire.md 2.1. */
import { type ConversationId, laxEventTime } from '@parley/protocol'
import type { Actor, Conversations } from '../../conversation/index.ts'

export type Resend =
  | { kind: 'none' }
  | { kind: 'all' }
  /** Events stamped at or after `at` (ISO, UTC, no offset). */
  | { kind: 'since'; at: string }
  /** Sequenced frames, every event after `seq` exactly once. */
  | { kind: 'after_seq'; seq: number }

/** Null for parameters that refuse the handshake. */
export function readResend(query: URLSearchParams): Resend | null {
  const seq = query.get('after_seq')
  if (seq !== null) return /^\d{1,15}$/.test(seq) ? { kind: 'after_seq', seq: Number(seq) } : null
  const mode = query.get('resend_mode')
  if (mode === null) return isTrue(query.get('resend_all')) ? { kind: 'all' } : { kind: 'none' }
  if (mode === 'all') return { kind: 'all' }
  if (mode !== 'since') return null
  const after = query.get('after_timestamp')
  if (after === null) return { kind: 'none' }
  const at = laxEventTime().safeParse(after)
  return at.success ? { kind: 'since', at: at.data } : null
}

/** The same for a socket with sequenced frames only. */
export function readPlace(query: URLSearchParams): Resend | null {
  return query.has('after_seq') ? readResend(query) : { kind: 'after_seq', seq: 0 }
}

const isTrue = (text: string | null) => text !== null && /^(?:true|t|1|yes|y|on)$/i.test(text)

/** The `seq` after which a watcher starts. No event can fall between this look-up and the start of the watch. */
export async function startOf(
  resend: Resend,
  id: ConversationId,
  actor: Actor,
  conversations: Conversations,
): Promise<number | 'now'> {
  switch (resend.kind) {
    case 'none':
      return 'now'
    case 'all':
      return 0
    case 'after_seq':
      return resend.seq
    case 'since': {
      const newest = await conversations.searchEvents(id, { filter: {}, order: 'desc', limit: 1 }, actor)
      const head = newest.items[0]?.seq ?? 0
      const filter = { timestampGte: resend.at }
      const first = await conversations.searchEvents(id, { filter, order: 'asc', limit: 1 }, actor)
      // The event was stored after the newest one was looked up, so only later events are new, and the caller wants no older ones.
      return Math.min((first.items[0]?.seq ?? head + 1) - 1, head)
    }
  }
}
