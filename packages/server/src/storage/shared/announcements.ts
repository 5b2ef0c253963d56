import type { ConversationId } from '@parley/protocol'
import type { OutboxDraft } from '../contract/conversations.ts'
import type { OutboxChange } from '../contract/outbox.ts'
import type { OutboxTarget } from '../contract/targets.ts'

/** The targets of an outbox, and its listeners. */
export class Announcements {
  readonly #listeners = new Set<(change: OutboxChange) => void>()
  #targets: readonly OutboxTarget[] = []

  get targets(): readonly OutboxTarget[] {
    return this.#targets
  }

  setTargets(targets: readonly OutboxTarget[]): void {
    this.#targets = targets
  }

  subscribe(listener: (change: OutboxChange) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Calls the listeners after a durable commit. */
  announce(change: OutboxChange): void {
    for (const listener of this.#listeners) listener(change)
  }

  /** Announces appended events and notifications, if there is a target. */
  announceCommit(id: ConversationId, drafts: readonly OutboxDraft[] | undefined, events: number, isOver = false): void {
    if (this.#targets.length === 0) return
    const deliveries = drafts !== undefined && drafts.length > 0
    if (deliveries || events > 0 || isOver) this.announce({ conversation_id: id, deliveries, events, isOver })
  }
}
