/** Conversations and events for tests of a store. */
import {
  type ConversationId,
  type Event,
  MessageEvent,
  newConversationId,
  newEventId,
  type StoredEvent,
} from '@parley/protocol'
import type {
  Append,
  ConversationRow,
  NewConversation,
  NodeNumber,
  OutboxTarget,
  OwnedRow,
  Storage,
} from '../src/storage/index.ts'

/** An implementation of a store under test. */
export type Place = AsyncDisposable & {
  /** Opens the store of this place; a second one beside it is that of another process. */
  open(): Promise<Storage>
  /** Program and arguments of a process that opens the store and runs `streamAppends` until it is killed. */
  readonly writer: readonly string[]
}

/** Creates an empty place; disposal removes everything. */
export type MakePlace = () => Promise<Place>

export const at = (second: number): string => new Date(Date.UTC(2026, 0, 1) + second * 1000).toISOString()

export function conversation(change: Partial<NewConversation> = {}): NewConversation {
  return {
    id: newConversationId(),
    owner: 'ada',
    created_at: at(0),
    updated_at: at(0),
    node: null,
    status: 'idle',
    parent_conversation_id: null,
    record: '{"sealed":"record"}',
    ...change,
  }
}

/** Time of the n-th second of the tests' year, in the format of event timestamps. */
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

/** An event of an unknown kind, with the members of every event. */
export function otherEvent(kind: string, members: Record<string, unknown> = {}): Event {
  return { kind, id: newEventId(), timestamp: eventTime(0), ...members } as unknown as Event
}

/** Numbers events from `first`. */
export const numbered = (events: readonly Event[], first = 1): StoredEvent[] =>
  events.map((event, index) => ({ seq: first + index, event }))

/** `count` messages, numbered from `first`. */
export const messages = (count: number, first = 1): StoredEvent[] =>
  numbered(
    Array.from({ length: count }, (_, index) => message(`message ${first + index}`)),
    first,
  )

/** The node of a test that needs only one. */
export const NODE = 1

/** The place of a test that needs only one. */
export const HERE = 'here'

/** Takes ownership of a conversation that exists. */
export async function own(storage: Storage, id: ConversationId, by: NodeNumber = NODE): Promise<OwnedRow> {
  const owning = await storage.conversations.own(id, by)
  if (owning.kind !== 'owned') throw new Error(`conversation ${id} is ${owning.kind}`)
  return owning
}

/** Creates a conversation and takes ownership of it. */
export async function owned(storage: Storage, change: Partial<NewConversation> = {}): Promise<ConversationRow> {
  const draft = conversation(change)
  await storage.conversations.create(draft)
  return (await own(storage, draft.id)).row
}

/** The next append by the owner of `row`. */
export function nextAppend(row: ConversationRow, count = 1, change: Partial<Append> = {}): Append {
  return { id: row.id, epoch: row.epoch, expectedSeq: row.seq, events: messages(count, row.seq + 1), ...change }
}

/** The delivery target in tests of a store. */
export const TARGET = 'http://target.test'

/** Makes these the targets, so that later notifications are written. */
export async function setTargets(storage: Storage, targets: readonly OutboxTarget[]): Promise<void> {
  const others = { options: '{}', sealed: 'sealed', origin: 'configuration' } as const
  await storage.targets.configure(targets.map((target) => ({ ...target, ...others })))
  await storage.targets.load()
}

/** Sets the target, so that later notifications are written. */
export const told = (storage: Storage, events = false): Promise<void> => setTargets(storage, [{ name: TARGET, events }])

/** All stored notifications, oldest first. */
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

/** The bytes and costs in the logs of conversations, counted anew. */
export async function recount(storage: Storage, ids: readonly ConversationId[]) {
  const pages = await Promise.all(ids.map((id) => storage.events.page(id, { limit: 100_000 })))
  const events = pages.flat().map(({ event }) => event)
  const cost = events.reduce((sum, event) => sum + (event.kind === 'UsageRecordedEvent' ? (event.cost ?? 0) : 0), 0)
  return { bytes: events.reduce((sum, event) => sum + Buffer.byteLength(JSON.stringify(event)), 0), cost }
}

/** All stored data of one conversation, to compare before and after. */
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
