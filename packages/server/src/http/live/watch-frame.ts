/** Frames of the watch socket. Source: docs/events.md, One socket for many conversations. */
import { isRecord, laxConversationId, type ConversationId } from '@parley/protocol'
import { z } from 'zod'
import type { FeedItem } from '../../conversation/index.ts'
import { read } from '../input/validation.ts'
import { isIntroduction } from './first-frame.ts'
import { failuresOf, readJsonFrame } from './json-frame.ts'
import { frameHeader, textFrame } from './text-frame.ts'

/** What a client subscribes to. */
export type Subject = ConversationId | 'feed'

export type WatchRequest =
  | { kind: 'auth' }
  /** `after`: a seq of the conversation, null: from the first one; the number of a change of the feed, null: from now on. */
  | { kind: 'subscribe'; subject: Subject; after: number | null }
  | { kind: 'unsubscribe'; subject: Subject }
  | { kind: 'problem'; detail: string }

const Place = z.int().min(0).max(Number.MAX_SAFE_INTEGER)
const Id = laxConversationId()
const SubscribeFeed = z.strictObject({ subscribe: z.literal('feed'), after: Place.nullable().default(null) })
const SubscribeConversation = z.strictObject({
  subscribe: z.strictObject({ conversation: Id, after_seq: Place.default(0) }),
})
const UnsubscribeFeed = z.strictObject({ unsubscribe: z.literal('feed') })
const UnsubscribeConversation = z.strictObject({ unsubscribe: z.strictObject({ conversation: Id }) })

/** Reads one frame; never rejects. */
export async function readWatchRequest(data: Buffer, isBinary: boolean): Promise<WatchRequest> {
  if (isBinary) return problem('Send frames as text')
  const frame = await readJsonFrame(data)
  if ('detail' in frame) return problem(`Not JSON: ${frame.detail}`)
  const { value } = frame
  if (isIntroduction(value)) return { kind: 'auth' }
  const { subscribe, unsubscribe } = isRecord(value) ? value : {}
  if ((subscribe === undefined) === (unsubscribe === undefined))
    return problem('Send {"subscribe": …} or {"unsubscribe": …}, with "feed" or {"conversation": id}')
  if (subscribe === 'feed') {
    const asked = read(SubscribeFeed, value, [])
    if (asked.value === undefined) return problem(failuresOf(asked))
    return { kind: 'subscribe', subject: 'feed', after: asked.value.after }
  }
  if (subscribe !== undefined) {
    const asked = read(SubscribeConversation, value, [])
    if (asked.value === undefined) return problem(failuresOf(asked))
    const { conversation, after_seq } = asked.value.subscribe
    return { kind: 'subscribe', subject: conversation, after: after_seq }
  }
  const asked = read(unsubscribe === 'feed' ? UnsubscribeFeed : UnsubscribeConversation, value, [])
  if (asked.value === undefined) return problem(failuresOf(asked))
  const subject = asked.value.unsubscribe
  return { kind: 'unsubscribe', subject: subject === 'feed' ? 'feed' : subject.conversation }
}

const problem = (detail: string): WatchRequest => ({ kind: 'problem', detail })

/** A frame of the feed. */
export function feedFrame({ kind: type, ...members }: FeedItem): Buffer {
  return textFrame(JSON.stringify({ type, ...members }))
}

/** The answer to a request that is refused. */
export const problemFrame = (detail: string): Buffer => textFrame(JSON.stringify({ type: 'problem', detail }))

/** The last frame of a subscription. `code` is the close code that a socket of its own would have. */
export function endedFrame(subject: Subject, { code, reason }: { code: number; reason: string }): Buffer {
  const of = subject === 'feed' ? { feed: true } : { conversation_id: subject }
  return textFrame(JSON.stringify({ type: 'ended', ...of, code, reason }))
}

/** The parts of a frame with the id of its conversation as first member. `text`: a JSON object that is not empty. */
export function frameOf(id: ConversationId, text: Buffer): Buffer[] {
  const member = Buffer.from(`{"conversation_id":"${id}",`)
  return [frameHeader(member.length + text.length - 1), member, text.subarray(1)]
}
