/** Conversations and events for tests of a store. */
import {
  type ConversationId,
  type Event,
  MessageEvent,
  newConversationId,
  newEventId,
  type StoredEvent,
} from '@parley/protocol'
import type { Append, ConversationRow, NewConversation, Storage } from '../../packages/server/src/storage/index.ts'

/** A kind of store under test. */
export type Place = AsyncDisposable & {
  /** Opens the store of this place; each open one is disposed by the test before the next is opened. */
  open(): Promise<Storage>
  /** Program and arguments of a process that opens the store and runs `streamAppends` until it is killed. */
  readonly writer: readonly string[]
}

/** An empty place; disposing it removes everything. */
export type MakePlace = () => Promise<Place>

export const at = (second: number): string => new Date(Date.UTC(2026, 0, 1) + second * 1000).toISOString()

export function conversation(change: Partial<NewConversation> = {}): NewConversation {
  return {
    id: newConversationId(),
    owner: 'ada',
    created_at: at(0),
    updated_at: at(0),
    status: 'idle',
    parent_conversation_id: null,
    record: '{"sealed":"record"}',
    ...change,
  }
}

/** Event time of the n-th second of the tests' year, in the form that events carry. */
export const eventTime = (second: number): string => `${at(second).slice(0, 23)}000`

export function message(text: string, change: Partial<MessageEvent> = {}): MessageEvent {
  return {
    ...MessageEvent.parse({
      kind: 'MessageEvent',
      id: newEventId(),
      timestamp: eventTime(0),
      source: 'user',
      llm_message: { role: 'user', content: [{ type: 'text', text }] },
    }),
    ...change,
  }
}

/** An event that this version knows nothing about, apart from what every event has. */
export function otherEvent(kind: string, members: Record<string, unknown> = {}): Event {
  return { kind, id: newEventId(), timestamp: eventTime(0), ...members } as unknown as Event
}

/** Gives events their places, from `first` on. */
export const numbered = (events: readonly Event[], first = 1): StoredEvent[] =>
  events.map((event, index) => ({ seq: first + index, event }))

/** `count` messages with the places from `first` on. */
export const messages = (count: number, first = 1): StoredEvent[] =>
  numbered(
    Array.from({ length: count }, (_, index) => message(`message ${first + index}`)),
    first,
  )

/** A stored conversation that the caller owns. */
export async function owned(storage: Storage, change: Partial<NewConversation> = {}): Promise<ConversationRow> {
  const draft = conversation(change)
  await storage.conversations.create(draft)
  const own = await storage.conversations.own(draft.id)
  if (own === null) throw new Error('a conversation that was just created is unknown')
  return own.row
}

/** The next append of the owner of `row`. */
export function nextAppend(row: ConversationRow, count = 1, change: Partial<Append> = {}): Append {
  return { id: row.id, epoch: row.epoch, expectedSeq: row.seq, events: messages(count, row.seq + 1), ...change }
}

/** Who is told in tests of a store. */
export const TARGET = 'http://target.test'

/** Has notifications written from now on. */
export const told = (storage: Storage, events = false): Promise<void> =>
  storage.outbox.setTargets([{ name: TARGET, events }])

/** Every notification that is stored, oldest first. */
export async function notifications(storage: Storage) {
  const { items } = await storage.outbox.list({ limit: 100_000 })
  const bodies = await Promise.all(items.map(({ id }) => storage.outbox.body(id)))
  return items
    .map(({ conversation_id, topic, sequence, status }, index) => {
      const body = bodies[index]
      return { conversation_id, topic, sequence, status, payload: body?.kind === 'notification' ? body.payload : null }
    })
    .reverse()
}

/** Everything a store holds of one conversation, to tell that nothing has changed. */
export async function everything(storage: Storage, id: ConversationId): Promise<unknown> {
  const [row, [state], events, outbox] = await Promise.all([
    storage.conversations.get(id),
    storage.conversations.states([id]),
    storage.events.page(id, { limit: 10_000 }),
    notifications(storage),
  ])
  return { row, state, events, outbox }
}

export const seqs = (events: readonly StoredEvent[]): number[] => events.map(({ seq }) => seq)

export const range = (first: number, last: number): number[] =>
  Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index)
