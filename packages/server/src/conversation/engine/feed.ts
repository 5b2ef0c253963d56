/**
 * The changes of all conversations of a user, for lists. A reader holds a number; the changes are in the store, on every node alike. Nothing is
 * kept for users without a reader.
 */
import type { ConversationId } from '@parley/protocol'
import type { Coordination } from '../../coordination/index.ts'
import { abortable } from '../../lib/index.ts'
import type { Storage } from '../../storage/index.ts'
import type { Actor, Feed, FeedItem } from '../conversations.ts'
import type { Reading } from '../record/reading.ts'
import { costUsd } from '../run/next.ts'
import type { ConversationAccess } from './access.ts'

/** Conversations that one call of `next` reads. */
const PAGE = 50

export class Feeds implements Disposable {
  readonly #access: ConversationAccess
  readonly #storage: Pick<Storage, 'conversations' | 'feed'>
  /** What wakes the readers of a user. */
  readonly #wakes = new Map<string, Set<() => void>>()
  readonly #ends = new DisposableStack()

  constructor(
    access: ConversationAccess,
    storage: Pick<Storage, 'conversations' | 'feed'>,
    coordination: Pick<Coordination, 'tell' | 'on'>,
  ) {
    this.#access = access
    this.#storage = storage
    this.#ends.defer(
      storage.feed.subscribe((user) => {
        this.#wake(user)
        coordination.tell('feed', user)
      }),
    )
    this.#ends.use(coordination.on('feed', (user) => this.#wake(user)))
  }

  /** Reads the changes of the actor's conversations after the change `after`; null: from now on. */
  open(actor: Actor, after: number | null, signal: AbortSignal): Feed {
    const { user } = actor
    let cursor = after
    let isFirst = true
    let news = Promise.withResolvers<void>()
    const wake = () => news.resolve()
    const wakes = this.#wakes.get(user) ?? new Set()
    this.#wakes.set(user, wakes.add(wake))
    return {
      next: async () => {
        for (;;) {
          signal.throwIfAborted()
          news = Promise.withResolvers()
          const { n, items } = await this.#read(actor, cursor)
          if (isFirst && cursor !== null && items[0]?.kind !== 'lists') items.unshift({ kind: 'resumed', n: cursor })
          isFirst = false
          cursor = n
          if (items.length > 0) return items
          await abortable(news.promise, signal)
        }
      },
      [Symbol.dispose]: () => {
        wakes.delete(wake)
        if (wakes.size === 0 && this.#wakes.get(user) === wakes) this.#wakes.delete(user)
      },
    }
  }

  [Symbol.dispose](): void {
    this.#ends.dispose()
  }

  /** @param user null: any user's conversations may have changed */
  #wake(user: string | null): void {
    const woken = user === null ? [...this.#wakes.values()] : [this.#wakes.get(user) ?? []]
    for (const wakes of woken) for (const wake of wakes) wake()
  }

  /** The changes after a number, and the number to continue from. */
  async #read(actor: Actor, after: number | null): Promise<{ n: number; items: FeedItem[] }> {
    const since = after === null ? null : await this.#storage.feed.since(actor.user, after)
    if (since === null) {
      const n = await this.#storage.feed.newest(actor.user)
      return { n, items: [{ kind: 'lists', n }] }
    }
    const changes = since.changes.slice(0, PAGE)
    const n = changes.length < since.changes.length ? changes.at(-1)!.n : since.n
    if (changes.length === 0) return { n, items: [] }
    const ids = changes.map(({ conversation_id }) => conversation_id)
    const readings = await this.#access.readRows(await this.#storage.conversations.getMany(ids), actor)
    return {
      n,
      items: changes.map((change, index) => {
        const reading = readings[index] ?? null
        return reading === null ? { kind: 'deleted', ...change } : { kind: 'changed', ...change, ...shown(reading) }
      }),
    }
  }
}

function shown({ row, record, state }: Reading): Omit<Extract<FeedItem, { kind: 'changed' }>, 'kind' | 'n'> {
  return {
    conversation_id: row.id,
    seq: state.seq,
    execution_status: state.execution_status,
    title: record.title,
    approval:
      state.execution_status === 'waiting_for_confirmation' ? (state.awaiting_approval?.batch_id ?? null) : null,
    cost: costUsd(state),
    updated_at: row.updated_at,
    parent_conversation_id: record.sub_agent == null ? null : (row.parent_conversation_id as ConversationId | null),
  }
}
