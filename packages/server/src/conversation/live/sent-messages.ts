import { ParleyError, type EventId } from '@parley/protocol'
import { isDeepStrictEqual } from 'node:util'
import type { Command } from '../conversations.ts'
import { userMessage } from '../drafts.ts'
import type { LiveReader } from '../live-access.ts'
import type { LiveDeps } from './deps.ts'

type SendMessage = Extract<Command, { kind: 'send_message' }>

/** Messages with an id that their client has chosen: a repetition, also one that arrives meanwhile, changes nothing. */
export class SentMessages {
  readonly #live: Pick<LiveReader, 'id' | 'owner' | 'record'>
  readonly #deps: Pick<LiveDeps, 'storage' | 'mask'>
  readonly #underWay = new Map<EventId, Promise<void>>()

  constructor(live: Pick<LiveReader, 'id' | 'owner' | 'record'>, deps: Pick<LiveDeps, 'storage' | 'mask'>) {
    this.#live = live
    this.#deps = deps
  }

  /**
   * Calls `send` unless the message is there already.
   * @throws ParleyError `conflict` when the id belongs to another event; the error of `send`
   */
  async once(message: SendMessage, send: () => Promise<void>): Promise<void> {
    const { event_id } = message
    if (event_id === undefined) return send()
    for (let earlier = this.#underWay.get(event_id); earlier !== undefined; earlier = this.#underWay.get(event_id))
      await earlier.catch(() => undefined)
    const sending = this.#unlessKnown(message, event_id, send)
    this.#underWay.set(event_id, sending)
    try {
      await sending
    } finally {
      this.#underWay.delete(event_id)
    }
  }

  async #unlessKnown(message: SendMessage, eventId: EventId, send: () => Promise<void>): Promise<void> {
    const { id, owner, record } = this.#live
    const { events, conversations } = this.#deps.storage
    const waiting = record().pending_ids?.indexOf(eventId) ?? -1
    if (waiting !== -1) {
      if (isDeepStrictEqual(record().pending_messages[waiting], message.content)) return
      throw taken(eventId)
    }
    const stored = await events.get(id, eventId)
    if (stored === null) {
      const holders = await conversations.holders(eventId)
      if (holders.some((holder) => holder.owner === owner && holder.id !== id)) throw taken(eventId)
      return send()
    }
    // The stored message is masked, so the repeated one is compared in its masked form.
    const [masked] = await this.#deps.mask([userMessage(message.content)], owner, record())
    const isSame =
      stored.event.kind === 'MessageEvent' &&
      stored.event.source === 'user' &&
      masked?.kind === 'MessageEvent' &&
      isDeepStrictEqual(stored.event.llm_message.content, asStored(masked.llm_message.content))
    if (!isSame) throw taken(eventId)
  }
}

/** A value as it is read back from the store: without members that are undefined. */
const asStored = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T

const taken = (eventId: EventId): ParleyError =>
  new ParleyError(
    'conflict',
    `The event_id ${eventId} belongs to another event. Choose a new one for each message, and repeat it only with the same message.`,
  )
