/**
 * Events as bytes, encoded once per process for all subscribers and cached with the event object. Parley's own frames are defined
 * in protocol/frames.ts. Source: agent-server-wire.md 2.4.
 */
import { dropNulls, type Event, eventTimestamp, newEventId } from '@parley/protocol'
import { isForClients } from '../../conversation/index.ts'
import { shownEvent } from '../../secrets/index.ts'
import { textFrame } from './text-frame.ts'
import type { Encode } from './writer.ts'

type Item = Parameters<Encode>[0]

/** Cached encodings of one stored event or live item. */
type Made = { json: string; wire?: Buffer; sequenced?: Buffer; sse?: Buffer }

const made = new WeakMap<object, Made>()

function remember(key: object, json: () => string): Made {
  const known = made.get(key)
  if (known !== undefined) return known
  const fresh = { json: json() }
  made.set(key, fresh)
  return fresh
}

/** JSON of an event in searches and frames. */
const eventJson = (event: Event): string => eventMade(event).json

const eventMade = (event: Event) => remember(event, () => JSON.stringify(dropNulls(shownEvent(event))))

/** Members of a live item that the wire shows as an event; such an event is never stored. */
const transient = (members: Record<string, unknown>) =>
  JSON.stringify({ ...members, id: newEventId(), timestamp: eventTimestamp(new Date()) })

/** The frames of existing clients: bare events without the phases of the start, with `full_state` snapshots and streaming deltas between them. */
export const encodeWire: Encode = (item) => {
  if (item.kind === 'event' && !isForClients(item.event)) return []
  const entry = wireMade(item)
  if (entry === null) return []
  entry.wire ??= textFrame(entry.json)
  return [entry.wire]
}

/** Null for an item that existing clients do not know. */
function wireMade(item: Item): Made | null {
  switch (item.kind) {
    case 'event':
      return eventMade(item.event)
    case 'delta':
      return remember(item, () => transient({ kind: 'StreamingDeltaEvent', source: 'agent', ...dropNulls(item.delta) }))
    case 'completion': {
      const event = { kind: 'LLMCompletionLogEvent', source: 'environment', ...item.completion }
      return remember(item, () => transient(event))
    }
    case 'tool_call':
    case 'partial':
    case 'output':
      return null
    case 'snapshot': {
      const { value } = item
      return remember(value, () =>
        transient({
          kind: 'ConversationStateUpdateEvent',
          source: 'environment',
          key: 'full_state',
          value: dropNulls(value),
        }),
      )
    }
  }
}

/** Items that only the session socket shows; the frames of the other sequenced streams are a closed set. */
const SESSION_ONLY: ReadonlySet<Item['kind']> = new Set(['tool_call', 'partial', 'output'])

/** Parley's own frames: each event with its `seq`. Their readers get completions from the files. */
export const encodeSequenced: Encode = (item) => (SESSION_ONLY.has(item.kind) ? [] : encodeSession(item))

/** The same, with the frames about what is not stored yet. */
export const encodeSession: Encode = (item) => {
  if (item.kind === 'completion') return []
  const key = item.kind === 'event' ? item.event : item
  const entry = item.kind === 'event' ? eventMade(item.event) : remember(key, () => '')
  entry.sequenced ??= textFrame(frameJson(item))
  return [entry.sequenced]
}

/** The same frames as server-sent events. Only an event has an id, so that a reader resumes after its last event. */
export const encodeSse: Encode = (item) => {
  if (item.kind === 'completion' || SESSION_ONLY.has(item.kind)) return []
  const entry = item.kind === 'event' ? eventMade(item.event) : remember(item, () => '')
  entry.sse ??= sse(item.kind, frameJson(item), item.kind === 'event' ? item.seq : undefined)
  return [entry.sse]
}

/** One server-sent event. */
export const sse = (type: string, json: string, id?: number): Buffer =>
  Buffer.from(`${id === undefined ? '' : `id: ${id}\n`}event: ${type}\ndata: ${json}\n\n`)

/** The last frame of a stream that ends. */
export const refused = (reason: string): string => JSON.stringify({ type: 'refused', reason })

function frameJson(item: Exclude<Item, { kind: 'completion' }>): string {
  switch (item.kind) {
    case 'event':
      return `{"type":"event","seq":${item.seq},"event":${eventJson(item.event)}}`
    case 'delta':
      return JSON.stringify({
        type: 'delta',
        ...item.delta,
        response_id: item.response_id,
        part: item.part,
        offset: item.offset,
      })
    case 'tool_call':
    case 'partial':
    case 'output': {
      const { kind: type, ...members } = item
      return JSON.stringify({ type, ...members })
    }
    case 'snapshot':
      return JSON.stringify({ type: 'snapshot', seq: item.seq, state: dropNulls(item.value) })
  }
}
