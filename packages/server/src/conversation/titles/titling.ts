import type { ConversationId, Draft } from '@parley/protocol'
import type { EventStore } from '../../storage/index.ts'
import type { Errands } from '../live/errands.ts'
import type { ConversationRecord } from '../record/record.ts'
import { firstWords, titleOf, wantsTitle, type TitleDeps } from './title.ts'

/** The conversation as the making of its title needs it. */
export type TitlingHost = {
  id: ConversationId
  owner: string
  events: EventStore
  errands: Errands
  record: () => ConversationRecord
  /** Messages that a hook has blocked, by id. */
  blocked: () => Readonly<Record<string, string>>
  /** Runs `work` alone among everything that changes the conversation. */
  inTurn: (work: () => Promise<void>) => Promise<void>
  /** Only in a turn. `title` null: there is one by now. */
  store: (drafts: readonly Draft[], title: string | null) => Promise<void>
  isLost: () => boolean
}

/** Gives a conversation a title once there is a text to make it from. One at a time; a person's own is never replaced. */
export class Titling {
  readonly #host: TitlingHost
  readonly #deps: TitleDeps
  #isGoingOn = false

  constructor(host: TitlingHost, deps: TitleDeps) {
    this.#host = host
    this.#deps = deps
  }

  /** A message of a person was stored. Returns at once. */
  start(): void {
    const { id, errands, record, isLost } = this.#host
    if (this.#isGoingOn || !wantsTitle(record())) return
    this.#isGoingOn = true
    errands
      .run((signal) => this.#make(signal))
      .catch((err: unknown) => {
        if (!isLost()) this.#deps.log.warn({ conversation_id: id, err }, 'a conversation got no title')
      })
      .finally(() => {
        this.#isGoingOn = false
      })
  }

  async #make(signal: AbortSignal): Promise<void> {
    const { id, owner, events, record, blocked, inTurn, store } = this.#host
    const text = await firstWords(events, id, blocked())
    if (text === '') return
    const { title, drafts } = await titleOf(text, { record: record(), owner }, this.#deps, signal)
    await inTurn(() => store(drafts, wantsTitle(record()) ? title : null))
  }
}
