/** Sending messages: the row is there at once, and a message is repeated under its id until the server has answered. */
import { server, ServerError } from '../api/server.ts'
import { newId } from '../lib/new-id.ts'
import type { OpenConversation } from '../socket/conversation.ts'

/** Milliseconds between two attempts of a message without an answer. */
const AGAIN_MS = 1000
/** Attempts while the connection is open. */
const ATTEMPTS = 3

/**
 * Sends a message and starts a run. Resolves when the server has it, also when it was offline in between.
 * @throws ServerError when the server refuses it; its row is then removed.
 */
export async function sendMessage(
  conversation: OpenConversation,
  { text, images }: { text: string; images: readonly string[] },
): Promise<void> {
  const { log } = conversation
  const id = newId()
  const isOnline = conversation.state().status === 'open'
  log.pending.add({ id, text, images, status: isOnline ? 'sending' : 'waiting', at: Date.now() })
  const body = {
    event_id: id,
    role: 'user',
    content: [
      ...(text === '' ? [] : [{ type: 'text', text }]),
      ...(images.length === 0 ? [] : [{ type: 'image', image_urls: images }]),
    ],
    run: true,
  }
  for (let attempt = 1; ; attempt++) {
    await whenOpen(conversation)
    try {
      await server.call('POST', conversation.path('/events'), { body })
      return log.pending.mark(id, 'sent')
    } catch (error) {
      const isLost = error instanceof ServerError && (error.isOffline || error.status >= 502)
      if (!isLost || attempt >= ATTEMPTS) {
        log.pending.remove(id)
        throw error
      }
      log.pending.mark(id, 'waiting')
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS))
    }
  }
}

/** Resolves when the connection is open. */
function whenOpen(conversation: OpenConversation): Promise<void> {
  return new Promise((resolve) => {
    const check = () => {
      if (conversation.state().status !== 'open') return
      leave()
      resolve()
    }
    const leave = conversation.subscribe(check)
    check()
  })
}
