/** Identifiers and timestamps of events. Only `newEventId` reads a clock, for its order. */
import { z } from 'zod'

export const ConversationId = z.string().brand<'ConversationId'>()
/** A dashed lower-case UUID. Create one with `newConversationId`, parse one with `parseConversationId`. */
export type ConversationId = z.infer<typeof ConversationId>

export const EventId = z.string().brand<'EventId'>()
/** Any non-empty text is legal on the wire; generated ids are time-ordered UUIDs. */
export type EventId = z.infer<typeof EventId>

/** Brands text that is known to be a canonical conversation id, such as a stored column. */
export const asConversationId = (text: string): ConversationId => text as ConversationId

/** Brands text that is known to be an event id, such as a stored column or a wire field. */
export const asEventId = (text: string): EventId => text as EventId

/** Returns a random UUIDv4, dashed lower case. */
export const newConversationId = (): ConversationId => asConversationId(crypto.randomUUID())

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))
/** Random bytes of the next 256 ids: one call of the system for each id would take longer than all the rest. */
const pool = new Uint8Array(256 * 16)
let used = pool.length
let lastMs = 0
let counter = 0

function randomBytes(): Uint8Array {
  if (used === pool.length) {
    crypto.getRandomValues(pool)
    used = 0
  }
  used += 16
  return pool.subarray(used - 16, used)
}

/**
 * Returns a UUIDv7, dashed lower case: ids of one process sort in the order of creation.
 * The 12 bits after the time count ids within one millisecond; when they run out, or the clock steps back, the time
 * advances.
 */
export function newEventId(): EventId {
  const bytes = randomBytes()
  const ms = Date.now()
  if (ms > lastMs) {
    lastMs = ms
    counter = (((bytes[6] ?? 0) & 0x03) << 8) | (bytes[7] ?? 0)
  } else if (++counter > 0xfff) {
    lastMs += 1
    counter = 0
  }
  for (let i = 0, rest = lastMs; i < 6; i++) {
    bytes[5 - i] = rest % 256
    rest = Math.floor(rest / 256)
  }
  bytes[6] = 0x70 | (counter >> 8)
  bytes[7] = counter & 0xff
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f)
  let text = ''
  for (let i = 0; i < 16; i++) {
    if (i === 4 || i === 6 || i === 8 || i === 10) text += '-'
    text += HEX[bytes[i] ?? 0]
  }
  return asEventId(text)
}

const CANONICAL = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const SIMPLE = /^[0-9a-f]{32}$/

/**
 * Converts dashed or 32 hex digits, any case, to dashed lower case; null for any other text. Source:
 * agent-server-wire.md 0.1.
 */
export function parseConversationId(text: string): ConversationId | null {
  const lower = text.toLowerCase()
  if (CANONICAL.test(lower)) return asConversationId(lower)
  if (!SIMPLE.test(lower)) return null
  const groups = [lower.slice(0, 8), lower.slice(8, 12), lower.slice(12, 16), lower.slice(16, 20), lower.slice(20)]
  return asConversationId(groups.join('-'))
}

/** Returns the 32-hex spelling of page ids and webhook URLs. Source: agent-server-wire.md 0.3. */
export const hexId = (id: ConversationId): string => id.replaceAll('-', '')

/** Returns UTC with six fraction digits and no offset, the form of event timestamps: `2026-08-22T10:15:30.123000`. */
export const eventTimestamp = (date: Date): string => `${date.toISOString().slice(0, 23)}000`
