/** Events of a conversation. Source: agent-server-wire.md 1.6. */
import {
  batchGetEvents,
  asEventId,
  countEvents,
  dropNulls,
  findEvents,
  getEvent,
  getEventOutline,
  ParleyError,
  respondToConfirmation,
  searchEvents,
  sendMessage,
  streamEvents,
  type WireEvent,
  wireKindToStored,
} from '@parley/protocol'
import { shownEvent } from '../../secrets/index.ts'
import type { Conversations } from '../../conversation/index.ts'
import type { Log } from '../../observability/index.ts'
import { presentedKey } from '../core/auth.ts'
import type { Connections } from '../live/connections.ts'
import type { KeyWatch } from '../live/key-watch.ts'
import { resumeAfter, type SseDeps, streamTo } from '../live/sse.ts'
import { preferredWaitMs, untilRested } from '../core/prefer-wait.ts'
import { ok, route } from '../core/route.ts'
import type { Route } from '../core/web.ts'

const SUCCESS = { success: true }

type Filter = {
  kind?: string | undefined
  source?: string | undefined
  body?: string | undefined
  timestamp__gte?: string | undefined
  timestamp__lt?: string | undefined
}

/** @param keyWatch absent: streams outlive their key. */
export function eventRoutes(
  conversations: Conversations,
  connections: Connections,
  log: Log,
  keyWatch?: KeyWatch,
): Route[] {
  return [
    route(
      sendMessage,
      async ({ id, body, headers, callerSignal }, actor) => {
        const { content, run, event_id, parent_event_id } = body
        await conversations.send(id, { kind: 'send_message', content, run, event_id, parent_event_id }, actor)
        const waitMs = preferredWaitMs(headers)
        if (waitMs === undefined) return ok(sendMessage, SUCCESS)
        await untilRested(conversations, id, actor, waitMs, callerSignal())
        return { ...ok(sendMessage, SUCCESS), headers: { 'preference-applied': `wait=${waitMs / 1000}` } }
      },
      'with_id',
    ),
    route(
      searchEvents,
      async ({ id, query }, actor) => {
        const { items, next_page_id } = await conversations.searchEvents(
          id,
          {
            filter: filterOf(query),
            order: query.sort_order === 'TIMESTAMP' ? 'asc' : 'desc',
            limit: query.limit,
            ...(query.page_id !== undefined && { page_id: asEventId(query.page_id) }),
            ...(query.seq !== undefined && { seq: query.seq }),
            ...(query.seqs !== undefined && { range: rangeIn(query.seqs) }),
            isForClients: true,
          },
          actor,
        )
        return ok(searchEvents, {
          items: items.map(({ event }) => dropNulls(shownEvent(event))),
          ...(query.seqs !== undefined && { seqs: items.map(({ seq }) => seq) }),
          next_page_id,
        })
      },
      'with_id',
    ),
    route(
      countEvents,
      async ({ id, query }, actor) => ok(countEvents, await conversations.countEvents(id, filterOf(query), actor)),
      'with_id',
    ),
    route(
      getEventOutline,
      async ({ id, query: { before_seq: before = Number.MAX_SAFE_INTEGER, after_seq: after = 0, limit } }, actor) =>
        ok(getEventOutline, await conversations.outline(id, { before, after, limit }, actor)),
      'with_id',
    ),
    route(
      findEvents,
      async ({ id, query: { q, kinds, limit } }, actor) => {
        const stored = kinds?.split(',').flatMap(wireKindToStored)
        const sought = { text: q, limit, ...(stored !== undefined && { kinds: stored }) }
        return ok(findEvents, await conversations.find(id, sought, actor))
      },
      'with_id',
    ),
    route(
      batchGetEvents,
      async ({ id, body }, actor) => {
        const found = new Map<string, WireEvent | null>()
        for (const event of body) {
          if (found.has(event)) continue
          const stored = await conversations.event(id, asEventId(event), actor)
          found.set(event, stored === null ? null : shownEvent(stored.event))
        }
        // An empty list finds out, too, whether the conversation exists.
        if (body.length === 0) await conversations.countEvents(id, {}, actor)
        return ok(
          batchGetEvents,
          body.map((event) => found.get(event) ?? null),
        )
      },
      'with_id',
    ),
    route(
      getEvent,
      async ({ id, params }, actor) => {
        const stored = await conversations.event(id, asEventId(params.event_id), actor)
        if (stored === null)
          throw new ParleyError('not_found', `Event not found: ${params.event_id}`, {
            details: { event_id: params.event_id },
          })
        return ok(getEvent, shownEvent(stored.event))
      },
      'with_id',
    ),
    route(
      respondToConfirmation,
      async ({ id, body: { accept, reason, batch_id, llm_response_id } }, actor) => {
        const named = {
          ...(batch_id !== undefined && { batch_id }),
          ...(llm_response_id !== undefined && { llm_response_id }),
        }
        await conversations.send(id, { kind: 'respond', accept, reason, ...named }, actor)
        return ok(respondToConfirmation, SUCCESS)
      },
      'with_id',
    ),
    streamRoute(conversations, connections, keyWatch, log),
  ]
}

function streamRoute(
  conversations: Conversations,
  connections: Connections,
  keyWatch: KeyWatch | undefined,
  log: Log,
): Route {
  return route(
    streamEvents,
    async ({ id, query, headers }, actor) => {
      const ended = new AbortController()
      const after = resumeAfter(headers['last-event-id'], query.after_seq)
      using places = new DisposableStack()
      places.use(connections.takeOf(actor.user))
      const ofConversation = connections.take(id)
      if (ofConversation === null) throw new ParleyError('rate_limited', 'Too many connections for this conversation')
      places.use(ofConversation)
      const watcher = await conversations.watch(id, after, actor, ended.signal)
      const guard: SseDeps['guard'] = (end, closed) => keyWatch?.guard(actor, presentedKey(headers), end, closed)
      const place = places.move()
      return {
        stream: (response, sent) => streamTo(response, sent, { watcher, ended, connections, place, guard, log }),
      }
    },
    'with_id',
  )
}

/** The two seqs of a query that its schema has read. */
function rangeIn(seqs: string): { first: number; last: number } {
  const [first = 0, last = 0] = seqs.split('-').map(Number)
  return { first, last }
}

/** A kind that is never stored matches no event, which an empty list of kinds expresses. */
function filterOf({ kind, source, body, timestamp__gte, timestamp__lt }: Filter) {
  return {
    ...(kind !== undefined && { kinds: wireKindToStored(kind) }),
    ...(source !== undefined && { source }),
    ...(body !== undefined && { body }),
    ...(timestamp__gte !== undefined && { timestampGte: timestamp__gte }),
    ...(timestamp__lt !== undefined && { timestampLt: timestamp__lt }),
  }
}
