/** A conversation's life in the product's words. Source: conversation-service.md 2. */
import { type ConversationResponse, conversationProgress, startAgain, stopConversation } from '@parley/protocol'
import type { Actor, Conversations } from '../../conversation/index.ts'
import type { Answer } from '../errors.ts'
import { isNotFound } from '../errors.ts'
import { ok, route } from '../route.ts'
import type { Route } from '../web.ts'

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
        return said(id, null, await statusOf(conversations, id, actor))
      }),
    ),
    route(stopConversation, ({ id }, actor) =>
      known(id, async () => {
        const before = await statusOf(conversations, id, actor)
        await conversations.send(id, { kind: 'stop' }, actor)
        const message = before === 'STOPPED' ? 'Conversation was not running' : 'Conversation stopped successfully'
        return said(id, message, before)
      }),
    ),
  ]
}

async function statusOf(conversations: Conversations, id: Parameters<Conversations['progress']>[0], actor: Actor) {
  return (await conversations.progress(id, actor)).status
}

const said = (
  id: string,
  message: string | null,
  conversation_status: ConversationResponse['conversation_status'],
): Answer => ({
  status: 200,
  body: { status: 'ok', conversation_id: id, message, conversation_status } satisfies ConversationResponse,
})

/** Existing clients look for `status` in the answer for an unknown conversation. */
async function known(id: string, answer: () => Promise<Answer>): Promise<Answer> {
  try {
    return await answer()
  } catch (error) {
    if (!isNotFound(error, 'conversation')) throw error
    return { status: 404, body: { status: 'error', conversation_id: id, detail: 'Conversation not found' } }
  }
}
