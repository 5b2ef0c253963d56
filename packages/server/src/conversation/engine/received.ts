/**
 * Conversations of other servers, as their webhooks report them: they can be read here, and commanded only where they live.
 * Each user has the conversations that were reported with one of the user's keys.
 * Source: interface.md, Webhook receiver; conversation-service.md 5.2, 5.4; decisions.md, Receiving webhooks.
 */
import { ParleyError, type ConversationId, type ConversationInfo, type ReceivedEvent } from '@parley/protocol'
import type { Quotas } from '../../quotas/index.ts'
import { redact, sealRecord, unsealRecord, type Cipher } from '../../secrets/index.ts'
import type { ReceivedRow, Storage } from '../../storage/index.ts'
import type { Actor } from '../conversations.ts'

/** Takes reports of other servers. */
export interface Receiver {
  /** Stores the newest state of a conversation; an older state than the stored one changes nothing. */
  take(info: ConversationInfo, actor: Actor): Promise<void>
  /** Adds events that are not stored yet. @throws ParleyError `insufficient_storage` */
  takeEvents(id: ConversationId, events: readonly ReceivedEvent[], actor: Actor): Promise<void>
}

export type ReceivedDeps = {
  storage: Pick<Storage, 'conversations' | 'received'>
  cipher: Cipher
  quotas: Pick<Quotas, 'expectRoom'>
  now: () => Date
}

export function openReceiver({ storage: { conversations, received }, cipher, quotas, now }: ReceivedDeps): Receiver {
  // Reports about conversations of this server are ignored: its own log is newer.
  const isOwn = async (id: ConversationId, actor: Actor) => (await conversations.get(id))?.owner === actor.user
  return {
    async take(info, actor) {
      if (await isOwn(info.id, actor)) return
      const { id, execution_status: status, parent_conversation_id } = info
      const sent_at = instant(info.updated_at)
      if (status === 'deleting') return received.remove(actor.user, id, sent_at)
      const at = now().toISOString()
      const created_at = instant(info.created_at) ?? (await received.get(actor.user, id))?.created_at ?? at
      const times = { created_at, updated_at: sent_at ?? at, sent_at }
      const sealed = JSON.stringify(sealRecord(info, cipher))
      await received.put({ id, owner: actor.user, ...times, status, parent_conversation_id, info: sealed })
    },

    async takeEvents(id, events, actor) {
      if (await isOwn(id, actor)) return
      await quotas.expectRoom(actor.user)
      const at = now().toISOString().slice(0, 23)
      const shown = events.filter((event) => !isStartPhase(event))
      if (shown.length === 0) return
      const stamped = shown.map((event) => ({ ...event, timestamp: event.timestamp ?? `${at}000` }))
      await received.append(actor.user, id, stamped)
    },
  }
}

/** The record of a received conversation. Secrets that the other server hid stay hidden, whatever exposure is asked for. */
export function receivedInfo({ info, created_at, updated_at }: ReceivedRow, cipher: Cipher): ConversationInfo {
  const shown = redact(unsealRecord(JSON.parse(info), cipher), 'rest') as ConversationInfo
  return { ...shown, created_at, updated_at }
}

/** For a command to a received conversation. */
export const livesElsewhere = (id: ConversationId): ParleyError =>
  new ParleyError('conflict', `Conversation ${id} lives on another server, which told this one of it. Ask that server.`)

/** The time in the form of our own times, so that both compare as text. */
const instant = (time: string | undefined): string | null => (time === undefined ? null : new Date(time).toISOString())

/** Phases of a start are not shown by searches, which are the only way to read a received conversation. */
const isStartPhase = (event: ReceivedEvent): boolean =>
  event.kind === 'ConversationStateUpdateEvent' && event['key'] === 'start_phase'
