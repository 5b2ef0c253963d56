import {
  ParleyError,
  type ConversationId,
  type ConversationInfo,
  type ConversationState,
  type StoredEvent,
} from '@parley/protocol'
import type { Cipher, Exposure } from '../../secrets/index.ts'
import type { ConversationRow, EventStore, ListedRow, ReceivedRow, Storage } from '../../storage/index.ts'
import type { Actor } from '../conversations.ts'
import type { LiveConversation } from '../live/live-conversation.ts'
import type { Roster } from '../live/roster.ts'
import { conversationInfo } from '../record/info.ts'
import type { Reading } from '../record/reading.ts'
import { livesElsewhere, receivedInfo } from './received.ts'

export const unknownConversation = (id: ConversationId): ParleyError =>
  new ParleyError('not_found', `Conversation not found: ${id}`, { details: { conversation_id: id } })

/** Looks conversations up on behalf of an actor. Another user's conversation is reported as unknown. */
export class ConversationAccess {
  readonly #storage: Storage
  readonly #cipher: Cipher
  readonly #roster: Roster

  constructor(storage: Storage, cipher: Cipher, roster: Roster) {
    this.#storage = storage
    this.#cipher = cipher
    this.#roster = roster
  }

  /** The row of a conversation of this server, or of another one that reported it. @throws ParleyError `not_found` */
  async find(id: ConversationId, actor: Actor): Promise<ListedRow> {
    const own = await this.#storage.conversations.get(id)
    if (own?.owner === actor.user) return { ...own, origin: 'own' }
    const received = await this.#storage.received.get(actor.user, id)
    if (received !== null) return { ...received, origin: 'received' }
    throw unknownConversation(id)
  }

  /** The row of a conversation of this server. @throws ParleyError `not_found`; `conflict` for a received conversation */
  async row(id: ConversationId, actor: Actor): Promise<ConversationRow> {
    const row = await this.find(id, actor)
    if (row.origin === 'received') throw livesElsewhere(id)
    return row
  }

  /**
   * Loads a conversation. The row of one that is in memory is not read: a commit to a deleted row is refused.
   * @throws ParleyError `not_found`; `conflict` for a received conversation
   */
  async live(id: ConversationId, actor: Actor): Promise<LiveConversation> {
    const inMemory = await this.#roster.inMemory(id)
    if (inMemory?.owner !== actor.user) await this.row(id, actor)
    return this.#roster.load(id)
  }

  /** The event log of a conversation of this server or of a received one. @throws ParleyError `not_found` */
  async log(id: ConversationId, actor: Actor): Promise<EventStore> {
    const { origin } = await this.find(id, actor)
    return origin === 'own' ? this.#storage.events : this.#storage.received.events(actor.user)
  }

  /** @throws ParleyError `not_found`; `conflict` for a received conversation, and for one that cannot be read */
  async read(id: ConversationId, actor: Actor): Promise<Reading> {
    return this.readRow(await this.row(id, actor))
  }

  /** @throws ParleyError `conflict` when record or log cannot be read */
  async readRow(row: ConversationRow): Promise<Reading> {
    const reading = await this.readOrMark(row)
    if (reading.unreadable !== undefined) throw reading.unreadable
    return reading
  }

  /** Reads one conversation; one that cannot be read is marked. @throws ParleyError `not_found` for one that is deleted meanwhile */
  async readOrMark(row: ConversationRow): Promise<Reading> {
    const [reading] = await this.#roster.read([row])
    if (reading == null) throw unknownConversation(row.id)
    return reading
  }

  /** Null for unknown conversations. Those that cannot be read are marked. */
  readRows(rows: readonly (ConversationRow | null)[], actor: Actor): Promise<(Reading | null)[]> {
    return this.#roster.read(rows.map((row) => (row?.owner === actor.user ? row : null)))
  }

  /** @param exposure how the secrets of the record are shown; absent: hidden */
  async info(reading: Reading, exposure?: Exposure): Promise<ConversationInfo> {
    const { row, state } = reading
    const usage = await usageRecords(this.#storage.events, row.id, state)
    const sources = { ...reading, usage, children: await this.#storage.conversations.children(row.id) }
    const shown = exposure === undefined ? undefined : { exposure, cipher: this.#cipher, user: row.owner }
    return conversationInfo(sources, shown)
  }

  /** The info as lists show it: the lists of the metrics are empty, so that no usage record is read. */
  async listedInfo(reading: Reading): Promise<ConversationInfo> {
    return conversationInfo({ ...reading, children: await this.#storage.conversations.children(reading.row.id) })
  }

  receivedInfo(row: ReceivedRow): ConversationInfo {
    return receivedInfo(row, this.#cipher)
  }
}

/** Number of usage records that the lists inside `stats` contain. */
const USAGE_LIST = 1000

/** Returns the newest usage records of a conversation, oldest first. */
async function usageRecords(
  events: Pick<EventStore, 'newest'>,
  id: ConversationId,
  state: Pick<ConversationState, 'stats'>,
): Promise<StoredEvent[]> {
  if (Object.keys(state.stats).length === 0) return []
  return (await events.newest(id, 'UsageRecordedEvent', USAGE_LIST)).reverse()
}
