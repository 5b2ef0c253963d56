/** For tests: targets, and stored conversations whose notifications and events are delivered. */
import type { ConversationId, StoredEvent } from '@parley/protocol'
import { newConversationId, newEventId } from '@parley/protocol'
import { own } from '../../testing/store-fixtures.ts'
import type { WebhookReceiver } from '../../testing/webhook-receiver.ts'
import { LiveNodes, openLocalCoordination } from '../coordination/index.ts'
import { openLog } from '../observability/index.ts'
import type { Storage } from '../storage/index.ts'
import { openWebhooks, readTarget, storeConfigured, type WebhookTarget, type Webhooks } from './index.ts'

export const log = openLog('silent')
export const now = () => new Date()

type Options = Partial<Omit<Parameters<typeof openWebhooks>[0], 'targets'>> & {
  storage: Storage
  targets: readonly WebhookTarget[]
  /** Default: the node may always begin effects. */
  confirm?: (signal: AbortSignal) => Promise<void>
}

/** The delivery to these targets, by the only node of a store. */
export async function deliverTo({ storage, targets, confirm, ...options }: Options): Promise<Webhooks> {
  const cipher = { seal: (text: string) => text, open: (sealed: string) => sealed }
  const self = { url: 'http://127.0.0.1', version: '0', places: [] }
  await storeConfigured({ configured: targets, targets: storage.targets, cipher, isShared: false, log })
  const local = await openLocalCoordination({ storage, self, now })
  const coordination = { ...local, ...(confirm && { confirm }) }
  return openWebhooks({
    outbox: storage.outbox,
    targets: storage.targets,
    open: (row) => readTarget(row, cipher.open),
    coordination,
    nodes: new LiveNodes(coordination),
    log,
    ...options,
  })
}

export const target = (receiver: { url: string }, change: Partial<WebhookTarget> = {}): WebhookTarget => ({
  base_url: receiver.url,
  headers: {},
  secret: null,
  api_key: null,
  events: false,
  waiting: false,
  event_buffer_size: 3,
  flush_delay: 60,
  max_batch_bytes: 1e6,
  retry_delay: 0.01,
  ...change,
})

export const event = (members: object = {}): StoredEvent['event'] =>
  ({
    kind: 'PauseEvent',
    id: newEventId(),
    timestamp: 't',
    source: 'user',
    parent_id: null,
    ...members,
  }) as StoredEvent['event']

/** Stores a conversation. `notify` writes one notification, and `append` appends events. */
export async function conversation(storage: Storage, id: ConversationId = newConversationId()) {
  const at = now().toISOString()
  const row = {
    id,
    owner: 'ada',
    created_at: at,
    updated_at: at,
    node: null,
    status: 'idle' as const,
    parent_conversation_id: null,
    record: '{}',
  }
  await storage.conversations.create(row)
  const epoch = (await own(storage, id)).row.epoch
  let seq = 0
  return {
    id,
    notify: (topic: string) =>
      storage.conversations.append({
        id,
        epoch,
        expectedSeq: seq,
        events: [],
        outbox: [{ topic, payload: JSON.stringify({ id, topic }) }],
      }),
    /** Appends `count` events, or these. */
    async append(count: number | readonly StoredEvent['event'][]) {
      const made = typeof count === 'number' ? Array.from({ length: count }, () => event()) : count
      const events = made.map((each, index) => ({ seq: seq + index + 1, event: each }))
      await storage.conversations.append({ id, epoch, expectedSeq: seq, events })
      seq += events.length
    },
  }
}

export const topics = (receiver: WebhookReceiver, id: string) =>
  receiver.about(id).map(({ body }) => body.topic as string)
export const seqsOf = (receiver: WebhookReceiver, id: string) =>
  receiver.about(id).map(({ headers, body }) => [Number(headers['x-parley-sequence']), body.length as number])
