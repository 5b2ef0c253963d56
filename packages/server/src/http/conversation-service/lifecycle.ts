/** The life cycle of a conversation in the conversation service API. Source: conversation-service.md 2. */
import { type ConversationResponse, conversationProgress, startAgain, stopConversation } from '@parley/protocol'
import type { Actor, Conversations } from '../../conversation/index.ts'
import type { Answer } from '../core/errors.ts'
import { isNotFound } from '../core/errors.ts'
import { ok, route } from '../core/route.ts'
import type { Route } from '../core/web.ts'

export function lifecycleRoutes(conversations: Conversations): Route[] {
  return [
    route(
      conversationProgress,
      async ({ id }, actor) => ok(conversationProgress, await conversations.progress(id, actor)),
      'named',
    ),
    route(startAgain, ({ id }, actor) =>
      known(id, async () => {
        await conversations.send(id, { kind: 'start' }, actor)
        return answerOf(id, null, await statusOf(conversations, id, actor))
      }),
    ),
    route(stopConversation, ({ id }, actor) =>
      known(id, async () => {
        const before = await statusOf(conversations, id, actor)
        await conversations.send(id, { kind: 'stop' }, actor)
        const message = before === 'STOPPED' ? 'Conversation was not running' : 'Conversation stopped successfully'
        return answerOf(id, message, before)
      }),
    ),
  ]
}

async function statusOf(conversations: Conversations, id: Parameters<Conversations['progress']>[0], actor: Actor) {
  return (await conversations.progress(id, actor, 'decide')).status
}

const answerOf = (
  id: string,
  message: string | null,
  conversation_status: ConversationResponse['conversation_status'],
): Answer => ({
  status: 200,
  body: { status: 'ok', conversation_id: id, message, conversation_status } satisfies ConversationResponse,
})

/** Existing clients read `status` in the answer for an unknown conversation. */
async function known(id: string, answer: () => Promise<Answer>): Promise<Answer> {
  try {
    return await answer()
  } catch (error) {
    if (!isNotFound(error, 'conversation')) throw error
    return { status: 404, body: { status: 'error', conversation_id: id, detail: 'Conversation not found' } }
  }
}
