/** Limits what idle conversations hold in memory together. Those that were used least recently are read again when they are needed. */
import type { ConversationId } from '@parley/protocol'
import { TimeSlices } from '../../lib/index.ts'
import type { Log } from '../../observability/index.ts'
import { GarbageCollection } from './garbage.ts'
import type { LiveConversation } from './live-conversation.ts'

/**
 * Most bytes of all idle conversations: of what their models see, which a run reads again in milliseconds, and of the rest, whose
 * loss also ends the agent with its MCP servers. Source: docs/operations.md, Memory.
 */
const MAX_BYTES = { views: 2 * 1024 * 1024, rest: 6 * 1024 * 1024 }
/** Time in milliseconds in which a conversation may continue before it counts as idle. */
const DELAY_MS = 1_000

export type IdleMemoryDeps = {
  /** Ids of the conversations in memory, the most recently used first. */
  newestFirst: () => readonly ConversationId[]
  inMemory: (id: ConversationId) => Promise<LiveConversation | undefined>
  /** Removes a conversation from memory, unless it is active. */
  unload: (id: ConversationId) => Promise<void>
  log: Pick<Log, 'error'>
}

export class IdleMemory {
  readonly #deps: IdleMemoryDeps
  readonly #garbage = new GarbageCollection(() => this.#isAtRest)
  #timer: NodeJS.Timeout | null = null
  /** True when all conversations were idle, and none has changed since. */
  #isAtRest = false
  #isClosed = false

  constructor(deps: IdleMemoryDeps) {
    this.#deps = deps
  }

  /** Notes that a conversation was used, and so may soon be idle. */
  changed(): void {
    this.#isAtRest = false
    this.#garbage.changed()
    if (this.#isClosed || this.#timer !== null) return
    this.#timer = setTimeout(() => {
      this.#timer = null
      this.#limit().catch((err: unknown) => this.#deps.log.error({ err }, 'memory of idle conversations not limited'))
    }, DELAY_MS)
    this.#timer.unref()
  }

  close(): void {
    this.#isClosed = true
    this.#garbage.close()
    clearTimeout(this.#timer ?? undefined)
  }

  async #limit(): Promise<void> {
    const slices = new TimeSlices()
    const left = { ...MAX_BYTES }
    let isAtRest = true
    for (const id of this.#deps.newestFirst()) {
      await slices.next()
      const live = await this.#deps.inMemory(id)
      if (this.#isClosed) return
      isAtRest &&= live?.isIdle !== false
      if (live?.isIdle !== true) continue
      const { view, rest } = live.bytes
      if (view <= left.views) left.views -= view
      else await live.dropView()
      if (rest <= left.rest) left.rest -= rest
      else await this.#deps.unload(id)
    }
    // A change meanwhile has set the timer again.
    this.#isAtRest = isAtRest && this.#timer === null
  }
}
