/**
 * `POST /api/conversations`: one route for two APIs; the shape of the body selects one (decisions.md, One path for two APIs).
 * Source: interface.md, New Conversation; conversation-service.md 1.4; agent-server-wire.md 1.4.
 */
import {
  type ConversationId,
  type ConversationInfo,
  type ConversationStatus,
  createConversation,
  type InitSessionRequest,
  type StartConversationRequest,
} from '@parley/protocol'
import type { Actor, Conversations, ReplayOptions } from '../../conversation/index.ts'
import { shown } from '../agent-server/info.ts'
import type { Answer } from '../core/errors.ts'
import { preferredWaitMs, untilRested } from '../core/prefer-wait.ts'
import { route } from '../core/route.ts'
import type { Route } from '../core/web.ts'

type Started = { created: boolean; info: ConversationInfo }
export type Starts = {
  startFromConversationService: (body: InitSessionRequest, actor: Actor, options: ReplayOptions) => Promise<Started>
  /** `hasPolicy`: the confirmation policy of the body is not a default. */
  startFromAgentServer: (
    body: StartConversationRequest,
    actor: Actor,
    options: { hasPolicy: boolean },
  ) => Promise<Started>
}

export function startRoutes(
  { startFromConversationService, startFromAgentServer }: Starts,
  conversations: Conversations,
): Route[] {
  return [
    route(createConversation, async ({ query, body, headers, callerSignal }, actor) => {
      const started = await (body.api === 'conversation-service'
        ? startFromConversationService(body.request, actor, { stopOnDivergence: query.replay_stop_on_divergence })
        : startFromAgentServer(body.request, actor, body))
      const { id } = started.info
      const waitMs = preferredWaitMs(headers)
      if (waitMs !== undefined) await untilRested(conversations, id, actor, waitMs, callerSignal())
      const applied = waitMs === undefined ? {} : { headers: { 'preference-applied': `wait=${waitMs / 1000}` } }
      if (body.api === 'conversation-service') {
        // A new conversation is answered as STARTING, even if its start has ended since; a repeated request gets the current status.
        const isStarting = started.created && waitMs === undefined
        const status = isStarting ? 'STARTING' : (await conversations.progress(id, actor, 'decide')).status
        return { ...startAnswer(id, status), ...applied }
      }
      const info = waitMs === undefined ? started.info : await conversations.info(id, actor)
      return { ...agentServerAnswer({ ...started, info }, query), ...applied }
    }),
  ]
}

/** The answer always has these four members. */
const startAnswer = (id: ConversationId, conversation_status: ConversationStatus): Answer => ({
  status: 200,
  about: id,
  body: { status: 'ok', conversation_id: id, message: null, conversation_status },
})

const agentServerAnswer = ({ created, info }: Started, query: { include_skills: boolean }): Answer => ({
  status: created ? 201 : 200,
  about: info.id,
  body: shown(info, query),
})
