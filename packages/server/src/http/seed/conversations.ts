/**
 * `POST /api/conversations`: one route for two dialects, told apart by the shape of the body (design.md 1).
 * Source: seed: New Conversation; conversation-service.md 1.4; agent-server-wire.md 1.4.
 */
import {
  type ConversationId,
  type ConversationInfo,
  type ConversationStatus,
  createConversation,
  type InitSessionRequest,
  type StartConversationRequest,
} from '@parley/protocol'
import type { Actor, Conversations, SeedOptions } from '../../conversation/index.ts'
import { shown } from '../agent-server/info.ts'
import type { Answer } from '../errors.ts'
import { preferredWaitMs, untilRested } from '../prefer-wait.ts'
import { route } from '../route.ts'
import type { Route } from '../web.ts'

export type Started = { created: boolean; info: ConversationInfo }
export type Starts = {
  startFromSeed: (body: InitSessionRequest, actor: Actor, options: SeedOptions) => Promise<Started>
  startFromAgentServer: (body: StartConversationRequest, actor: Actor) => Promise<Started>
}

export function startRoutes({ startFromSeed, startFromAgentServer }: Starts, conversations: Conversations): Route[] {
  return [
    route(createConversation, async ({ query, body, headers, gone }, actor) => {
      const isSeed = body.dialect === 'seed'
      const started = await (isSeed
        ? startFromSeed(body.request, actor, { stopOnDivergence: query.replay_stop_on_divergence })
        : startFromAgentServer(body.request, actor))
      const { id } = started.info
      const waitMs = preferredWaitMs(headers)
      if (waitMs !== undefined) await untilRested(conversations, id, actor, waitMs, gone())
      const applied = waitMs === undefined ? {} : { headers: { 'preference-applied': `wait=${waitMs / 1000}` } }
      if (isSeed) {
        // A new conversation starts, whatever has become of it since; a repeated request says where it stands.
        const isFresh = started.created && waitMs === undefined
        const status = isFresh ? 'STARTING' : (await conversations.progress(id, actor)).status
        return { ...seedAnswer(id, status), ...applied }
      }
      const info = waitMs === undefined ? started.info : await conversations.info(id, actor)
      return { ...agentServerAnswer({ ...started, info }, query), ...applied }
    }),
  ]
}

/** All four members, always. */
const seedAnswer = (id: ConversationId, conversation_status: ConversationStatus): Answer => ({
  status: 200,
  about: id,
  body: { status: 'ok', conversation_id: id, message: null, conversation_status },
})

const agentServerAnswer = ({ created, info }: Started, query: { include_skills: boolean }): Answer => ({
  status: created ? 201 : 200,
  about: info.id,
  body: shown(info, query),
})
