/**
 * Conversations of other servers beside our own: read like them, commanded where they live. Each user has those that were told
 * of with a key of theirs. Source: seed: webhook receiver; conversation-service.md 5.2, 5.4; design.md 4, "Receiving webhooks".
 */
import { ParleyError, type ConversationId, type ConversationInfo, type ReceivedEvent } from '@parley/protocol'
import { redact, sealRecord, unsealRecord, type Cipher } from '../secrets/index.ts'
import type { ConversationRow, ReceivedRow, Storage } from '../storage/index.ts'
import type { Actor, Conversations } from './conversations.ts'
import { eventPage } from './log/event-page.ts'
import { listed, toldProgress } from './listing.ts'

/** What other servers tell of their conversations. */
export interface Receiver {
  /** Takes the newest state of a conversation; an older one than is known changes nothing. */
  take(info: ConversationInfo, actor: Actor): Promise<void>
  /** Adds events, those that are known left out. */
  takeEvents(id: ConversationId, events: readonly ReceivedEvent[], actor: Actor): Promise<void>
}

export type ReceivedDeps = { storage: Pick<Storage, 'conversations' | 'received'>; cipher: Cipher; now: () => Date }

/** `own` and what was received as one. */
export function withReceived(own: Conversations, { storage, cipher, now }: ReceivedDeps): Conversations & Receiver {
  const { conversations, received } = storage
  const infoOf = ({ info, created_at, updated_at }: ReceivedRow): ConversationInfo => {
    const told = redact(unsealRecord(JSON.parse(info), cipher), 'rest') as ConversationInfo
    return { ...told, created_at, updated_at }
  }

  /** Answers for a conversation of our own, or else for a received one. */
  async function either<T>(
    id: ConversationId,
    actor: Actor,
    ours: () => Promise<T>,
    theirs: (row: ReceivedRow) => T | Promise<T>,
  ) {
    try {
      return await ours()
    } catch (error) {
      if (!isUnknown(error, id)) throw error
      const row = await received.get(actor.user, id)
      if (row === null) throw error
      return theirs(row)
    }
  }

  const ourOwn = async (id: ConversationId, actor: Actor) => (await conversations.get(id))?.owner === actor.user

  return {
    ...own,

    // What another server hid stays hidden, however it is asked for.
    info: (id, actor, exposure) => either(id, actor, () => own.info(id, actor, exposure), infoOf),

    async infos(ids, actor) {
      const found = await own.infos(ids, actor)
      return Promise.all(
        found.map(async (info, index) => {
          const row = info === null ? await received.get(actor.user, ids[index]!) : null
          return row === null ? info : infoOf(row)
        }),
      )
    },

    async search({ sort_order: sort, limit, status, page_id: from }, actor) {
      const query = { owner: actor.user, sort, limit, ...(status && { status }), ...(from && { from }) }
      const { items, next } = await received.search(query)
      const mine = items
        .filter((row): row is { origin: 'own' } & ConversationRow => row.origin === 'own')
        .map(({ id }) => id)
      const infos = new Map((await own.infos(mine, actor)).map((info, index) => [mine[index]!, info]))
      // One that was deleted since it was listed has no info any more.
      const listed = items.map((row) => (row.origin === 'received' ? infoOf(row) : (infos.get(row.id) ?? null)))
      return { items: listed.filter((info) => info !== null), next_page_id: next }
    },

    list: (search, actor) =>
      listed(search, {
        rows: (limit, from) =>
          received.search({ owner: actor.user, sort: 'CREATED_AT_DESC', limit, ...(from && { from }) }),
        async read(rows) {
          const mine = rows.flatMap((row) => (row.origin === 'own' ? [row.id] : []))
          const found = new Map((await own.progresses(mine, actor)).map((progress, index) => [mine[index], progress]))
          return rows.map((row) => {
            const { id, created_at, updated_at: last_updated_at } = row
            if (row.origin === 'own') return found.get(id) ?? null
            return toldProgress(infoOf(row), { created_at, last_updated_at })
          })
        },
      }),

    count: async (actor, status) => (await own.count(actor, status)) + (await received.count(actor.user, status)),

    progress: (id, actor) => either(id, actor, () => own.progress(id, actor), elsewhere),
    update: (id, change, actor) => either(id, actor, () => own.update(id, change, actor), elsewhere),
    delete: (id, actor) => either(id, actor, () => own.delete(id, actor), elsewhere),
    send: (id, command, actor) => either(id, actor, () => own.send(id, command, actor), elsewhere),
    fork: (id, request, actor) => either(id, actor, () => own.fork(id, request, actor), elsewhere),
    watch: (id, after, actor, signal) => either(id, actor, () => own.watch(id, after, actor, signal), elsewhere),
    finalResponse: (id, actor) => either(id, actor, () => own.finalResponse(id, actor), elsewhere),

    searchEvents: (id, search, actor) =>
      either(
        id,
        actor,
        () => own.searchEvents(id, search, actor),
        () => eventPage(received.events(actor.user), id, search),
      ),
    countEvents: (id, filter, actor) =>
      either(
        id,
        actor,
        () => own.countEvents(id, filter, actor),
        () => received.events(actor.user).count(id, filter),
      ),
    event: (id, event, actor) =>
      either(
        id,
        actor,
        () => own.event(id, event, actor),
        () => received.events(actor.user).get(id, event),
      ),

    async take(info, actor) {
      // A server that is told of its own conversations knows them better.
      if (await ourOwn(info.id, actor)) return
      const { id, execution_status: status, parent_conversation_id } = info
      const sent_at = instant(info.updated_at)
      if (status === 'deleting') return received.remove(actor.user, id, sent_at)
      const at = now().toISOString()
      const created_at = instant(info.created_at) ?? (await received.get(actor.user, id))?.created_at ?? at
      const times = { created_at, updated_at: sent_at ?? at, sent_at }
      const told = JSON.stringify(sealRecord(info, cipher))
      await received.put({ id, owner: actor.user, ...times, status, parent_conversation_id, info: told })
    },

    async takeEvents(id, events, actor) {
      if (await ourOwn(id, actor)) return
      const at = now().toISOString().slice(0, 23)
      await received.append(
        actor.user,
        id,
        events.map((event) => ({ ...event, timestamp: event.timestamp ?? `${at}000` })),
      )
    },
  }
}

/** @throws ParleyError `conflict`. */
function elsewhere({ id }: ReceivedRow): never {
  throw new ParleyError(
    'conflict',
    `Conversation ${id} lives on another server, which told this one of it. Ask that server.`,
  )
}

/** Whether the refusal is about the conversation itself, and not about something in it. */
const isUnknown = (error: unknown, id: ConversationId): boolean =>
  error instanceof ParleyError && error.code === 'not_found' && error.details['conversation_id'] === id

/** In the form that our own times have, so that both compare as text. */
const instant = (time: string | undefined): string | null => (time === undefined ? null : new Date(time).toISOString())
