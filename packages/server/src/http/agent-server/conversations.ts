/** Conversations: retrieval and actions. Source: agent-server-wire.md 1.4, 1.5. */
import {
  agentFinalResponse,
  askAgent,
  asConversationId,
  asEventId,
  condenseConversation,
  type ConversationId,
  countConversations,
  deleteConversation,
  forkConversation,
  getConversation,
  getConversations,
  hexId,
  interruptConversation,
  laxConversationId,
  navigateConversation,
  ParleyError,
  prepareForPause,
  pauseConversation,
  runConversation,
  searchConversations,
  setConfirmationPolicy,
  setSecurityAnalyzer,
  updateConversation,
} from '@parley/protocol'
import type { Conversations, ForkRequest } from '../../conversation/index.ts'
import type { Log } from '../../observability/index.ts'
import { ok, route } from '../core/route.ts'
import { productPage } from '../conversation-service/list.ts'
import type { Route } from '../core/web.ts'
import { shown } from './info.ts'
import { exposureOf } from './settings.ts'

const SUCCESS = { success: true }
/** Source: agent-server-wire.md 10.1. */
const MAX_IDS = 100

export function conversationRoutes(conversations: Conversations, log: Pick<Log, 'warn'>): Route[] {
  return [
    route(getConversations, async ({ query }, actor) => {
      if (query.ids === undefined) return ok(getConversations, await productPage(conversations, query, actor))
      if (query.ids.length >= MAX_IDS)
        throw new ParleyError('bad_request', `Ask for fewer than ${MAX_IDS} ids at a time`)
      const infos = await conversations.infos(query.ids.map(asConversationId), actor)
      return ok(
        getConversations,
        infos.map((info) => info && shown(info, query)),
      )
    }),
    // Every answered change is on disk already, and neither the store nor a run depends on continuous time.
    route(prepareForPause, async () => ({ status: 204 })),
    route(searchConversations, async ({ query }, actor) => {
      const { items, next_page_id } = await conversations.search(
        {
          sort_order: query.sort_order,
          limit: query.limit,
          ...(query.status !== undefined && { status: query.status }),
          ...pageId(query.page_id),
        },
        actor,
      )
      const page = {
        items: items.map((info) => shown(info, query)),
        next_page_id: next_page_id === null ? null : hexId(next_page_id),
      }
      return ok(searchConversations, page)
    }),
    route(countConversations, async ({ query }, actor) =>
      ok(countConversations, await conversations.count(actor, query.status)),
    ),
    route(getConversation, async ({ id, query, headers }, actor) => {
      const exposure = exposureOf(headers, actor)
      const info = await conversations.info(id, actor, exposure)
      if (exposure === 'plain')
        log.warn(
          { user: actor.user, key_id: actor.keyId, conversation_id: id },
          'conversation returned with secrets in clear text',
        )
      return ok(getConversation, shown(info, query))
    }),
    route(
      updateConversation,
      async ({ id, body: { title, tags, max_budget_per_task } }, actor) => {
        await conversations.update(
          id,
          {
            // A title of blanks removes the title.
            ...(title !== null && { title: title.trim() || null }),
            ...(tags !== null && { tags }),
            ...(max_budget_per_task != null && { max_budget_per_task }),
          },
          actor,
        )
        return ok(updateConversation, SUCCESS)
      },
      'not_successful',
    ),
    route(
      deleteConversation,
      async ({ id, query }, actor) => {
        const workspace = await conversations.delete(id, actor, query.workspace)
        return ok(deleteConversation, { ...SUCCESS, workspace })
      },
      'bad_request',
    ),
    ...actionRoutes(conversations),
    ...branchRoutes(conversations),
  ]
}

function actionRoutes(conversations: Conversations): Route[] {
  return [
    route(runConversation, async ({ id, body: { batch_id, approve } }, actor) => {
      const approved = approve ? { ...(batch_id !== null && { batch_id }) } : { batch_id: null }
      await conversations.send(id, { kind: 'run', ...approved }, actor)
      return ok(runConversation, SUCCESS)
    }),
    route(
      pauseConversation,
      async ({ id }, actor) => {
        await conversations.send(id, { kind: 'pause' }, actor)
        return ok(pauseConversation, SUCCESS)
      },
      'bad_request',
    ),
    route(
      interruptConversation,
      async ({ id }, actor) => {
        await conversations.send(id, { kind: 'interrupt' }, actor)
        return ok(interruptConversation, SUCCESS)
      },
      'bad_request',
    ),
    route(setConfirmationPolicy, async ({ id, body }, actor) => {
      await conversations.send(id, { kind: 'set_confirmation_policy', policy: body.policy }, actor)
      return ok(setConfirmationPolicy, SUCCESS)
    }),
    route(setSecurityAnalyzer, async ({ id, body }, actor) => {
      await conversations.send(id, { kind: 'set_security_analyzer', analyzer: body.security_analyzer }, actor)
      return ok(setSecurityAnalyzer, SUCCESS)
    }),
    route(agentFinalResponse, async ({ id }, actor) =>
      ok(agentFinalResponse, { response: await conversations.finalResponse(id, actor) }),
    ),
    route(
      askAgent,
      async ({ id, body, callerSignal }, actor) =>
        ok(askAgent, { response: await conversations.ask(id, body.question, actor, callerSignal()) }),
      'named',
    ),
    route(
      condenseConversation,
      async ({ id }, actor) => {
        await conversations.send(id, { kind: 'condense' }, actor)
        return ok(condenseConversation, SUCCESS)
      },
      'named',
    ),
  ]
}

function branchRoutes(conversations: Conversations): Route[] {
  return [
    route(
      forkConversation,
      async ({ id, body, query }, actor) => {
        const request: ForkRequest = {
          title: body.title,
          tags: body.tags,
          reset_metrics: body.reset_metrics,
          from_event_id: body.from_event_id === null ? null : asEventId(body.from_event_id),
          ...(body.id !== null && { id: body.id }),
        }
        const { info, files } = await conversations.fork(id, request, actor)
        return ok(forkConversation, { ...shown(info, query), files })
      },
      'source',
    ),
    route(
      navigateConversation,
      async ({ id, body, query }, actor) => {
        const event_id = body.event_id === null ? null : asEventId(body.event_id)
        const { restore_files, expected_leaf_event_id: expected_leaf } = body
        await conversations.send(id, { kind: 'navigate', event_id, restore_files, expected_leaf }, actor)
        return ok(navigateConversation, shown(await conversations.info(id, actor), query))
      },
      'named',
    ),
  ]
}

/** A page id that is no conversation id starts at the beginning, like an unknown one. */
function pageId(text: string | undefined): { page_id?: ConversationId } {
  const read = laxConversationId().safeParse(text)
  return read.success ? { page_id: read.data } : {}
}
