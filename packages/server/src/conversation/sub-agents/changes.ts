/** Signals changes of several conversations, in memory or not. */
import type { ConversationId } from '@parley/protocol'
import type { Roster } from '../live/roster.ts'

export class Changes implements Disposable {
  readonly #unfollow: (() => void)[]
  #news = Promise.withResolvers<void>()

  constructor(roster: Pick<Roster, 'channel' | 'release'>, of: readonly { id: ConversationId; seq: number }[]) {
    const wake = () => {
      this.#news.resolve()
      this.#news = Promise.withResolvers()
    }
    this.#unfollow = of.map(({ id, seq }) => {
      const unfollow = roster.channel(id, seq).follow(wake)
      return () => {
        unfollow()
        roster.release(id)
      }
    })
  }

  /** Resolves at the next change. Call it before reading the state, so that no change is missed. */
  next(): Promise<void> {
    return this.#news.promise
  }

  [Symbol.dispose](): void {
    for (const unfollow of this.#unfollow) unfollow()
  }
}
