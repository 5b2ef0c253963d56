/** One subscription of a watch socket: the frames of a conversation, at this node or at its owner, or the feed of the user. */
import type { IncomingMessage } from 'node:http'
import { ParleyError, type ConversationId } from '@parley/protocol'
import { hasMoved, type Conversations } from '../../conversation/index.ts'
import { sleep } from '../../lib/index.ts'
import type { Log } from '../../observability/index.ts'
import { isNotFound } from '../core/errors.ts'
import type { Forwarding } from '../forward/forwarding.ts'
import { bytesOf, type Ending, endingOf, openAtOwner, type OwnerSocket } from '../forward/socket-relay.ts'
import type { Connections } from './connections.ts'
import { encodeSession } from './encode.ts'
import type { Client } from './handshake.ts'
import { textOfFrame } from './text-frame.ts'
import { feedFrame, frameOf } from './watch-frame.ts'
import type { Encode, Writer } from './writer.ts'

/** Shortest time in milliseconds between two readings of a feed, so that many changes are read together. */
const FEED_PACE_MS = 100

const NOT_FOUND: Ending = { code: 4004, reason: 'Conversation not found' }
const TOO_MANY: Ending = { code: 1013, reason: 'Too many connections for this conversation' }
const TRY_LATER: Ending = { code: 1013, reason: 'Try again later' }
const MOVED: Ending = { code: 1012, reason: 'Service restart' }
const FAILED: Ending = { code: 1011, reason: 'Internal Server Error' }

export type SubscriptionDeps = {
  conversations: Conversations
  connections: Connections
  forwarding: Forwarding
  log: Log
}

/** The socket that a subscription writes to, and who opened it. */
export type Watching = { writer: Writer; client: Client; request: IncomingMessage }

/** Writes changes of the user's conversations until the signal aborts. Resolves with why it ended; rejects when the signal aborts. */
export async function followFeed(
  after: number | null,
  { writer, client }: Watching,
  { conversations, log }: SubscriptionDeps,
  signal: AbortSignal,
): Promise<Ending> {
  try {
    using feed = conversations.feed(client.actor, after, signal)
    for (;;) {
      const items = await feed.next()
      writer.write(items.map(feedFrame))
      await writer.room(signal)
      await sleep(FEED_PACE_MS, signal)
    }
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof ParleyError) return TRY_LATER
    log.error({ err: error }, 'feed failed unexpectedly')
    return FAILED
  }
}

/** Writes the frames of a conversation after a `seq`. As {@link followFeed}. */
export async function followConversation(
  { id, after }: { id: ConversationId; after: number },
  watching: Watching,
  deps: SubscriptionDeps,
  signal: AbortSignal,
): Promise<Ending> {
  const { conversations, connections, forwarding, log } = deps
  const { writer, client, request } = watching
  try {
    if (forwarding.isShared) {
      const url = `/sockets/session/${id}?after_seq=${after}`
      const opened = await openAtOwner({ id, ...client, request }, url, { forwarding, log, signal })
      if (opened !== 'here') return 'code' in opened ? opened : await passFrames(id, opened, writer, signal)
    }
    using place = connections.take(id)
    if (place === null) return TOO_MANY
    await using watcher = await conversations.watch(id, after, client.actor, signal)
    const encode: Encode = (item) => encodeSession(item).flatMap((frame) => frameOf(id, textOfFrame(frame)))
    await writer.pump(watcher, encode, signal)
    return NOT_FOUND
  } catch (error) {
    signal.throwIfAborted()
    if (isNotFound(error, 'conversation')) return NOT_FOUND
    if (error instanceof ParleyError) return hasMoved(error) ? MOVED : TRY_LATER
    log.error({ err: error, conversation_id: id }, 'subscription failed unexpectedly')
    return FAILED
  }
}

/** Passes the frames of the owner's socket on, at the pace of the reader. */
async function passFrames(
  id: ConversationId,
  opened: OwnerSocket,
  writer: Writer,
  signal: AbortSignal,
): Promise<Ending> {
  using socket = opened
  const { upstream } = socket
  const { promise, resolve, reject } = Promise.withResolvers<Ending>()
  const cut = () => {
    upstream.terminate()
    reject(signal.reason as Error)
  }
  signal.addEventListener('abort', cut, { once: true })
  upstream.on('message', (data) => {
    writer.write(frameOf(id, bytesOf(data)))
    if (writer.hasRoom) return
    upstream.pause()
    writer.room(signal).then(
      () => upstream.resume(),
      () => undefined,
    )
  })
  upstream.once('close', (code, reason) => resolve(endingOf(code, reason)))
  try {
    if (signal.aborted) cut()
    else upstream.resume()
    return await promise
  } finally {
    signal.removeEventListener('abort', cut)
  }
}
