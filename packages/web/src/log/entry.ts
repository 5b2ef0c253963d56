/** One line of the index of a log: what rows are computed from. Its event may not be loaded yet. Pure. */
import { listOf, type LogEvent, membersOf, textOf, timeOf } from './read.ts'

export type Entry = {
  readonly seq: number
  readonly kind: string
  /** Name of the tool, or the key of a state update; empty for other events. */
  readonly tool: string
  readonly from: 'user' | 'agent' | 'environment'
  /** Milliseconds since 1970; null when unknown. */
  readonly at: number | null
  /** `seq` of the parent on the tree; 0 for a root and for a control event; UNKNOWN for an event that was never loaded. */
  readonly parent: number
  /** `seq` of the event that this one is about: the action of a result, the new leaf of a navigation; 0 without. */
  readonly refers: number
  /** Bytes of the stored event, rounded up; 0 when unknown. */
  readonly size: number
  readonly event: LogEvent | undefined
}

/** A reference to an event whose `seq` is not known. */
export const UNKNOWN = -1

/** Finds the `seq` of an event by its id, or of an action by `call:` and its `tool_call_id`; 0 when unknown. */
export type SeqOf = (id: string) => number

const STATE_UPDATE = 'ConversationStateUpdateEvent'
const RESULTS = new Set(['ObservationEvent', 'UserRejectObservation', 'AgentErrorEvent'])

/** The entry of an event. */
export function entryOf(seq: number, event: LogEvent, seqOf: SeqOf): Entry {
  const { kind } = event
  const isControl = kind === STATE_UPDATE
  return {
    seq,
    kind,
    tool: isControl ? textOf(event['key']) : textOf(event['tool_name']),
    from: event.source === 'user' || event.source === 'agent' ? event.source : 'environment',
    at: timeOf(event.timestamp),
    parent: isControl ? 0 : placeOf(textOf(event.parent_id), seqOf),
    refers: refersTo(event, seqOf),
    size: 0,
    event,
  }
}

function refersTo(event: LogEvent, seqOf: SeqOf): number {
  if (RESULTS.has(event.kind))
    return seqOf(textOf(event['action_id'])) || seqOf(`call:${textOf(event['tool_call_id'])}`)
  if (event.kind === STATE_UPDATE && event['key'] === 'leaf_event_id') return placeOf(textOf(event['value']), seqOf)
  return 0
}

/** The place of a tree event; 0 for the empty tree. */
const placeOf = (id: string, seqOf: SeqOf) => (id === '' || id === '__root__' ? 0 : seqOf(id) || UNKNOWN)

/** True for an event that is part of the tree: it becomes the leaf. */
export const isTree = ({ kind }: Entry): boolean => kind !== STATE_UPDATE

/** Keys of the state updates that stored control events become, by their kind. */
const KEYS: Readonly<Record<string, string>> = {
  StatusChangedEvent: 'execution_status',
  LeafMovedEvent: 'leaf_event_id',
  ConfirmationRequestedEvent: 'confirmation_request',
  ApprovalEvent: 'approval',
  UsageRecordedEvent: 'stats',
  StartPhaseEvent: 'start_phase',
  ModelRetryEvent: 'model_retry',
  StateChangedEvent: 'state',
}

/**
 * The entries of an outline: columns without events, oldest first. Columns that are shorter than `type` count as 0.
 */
export function entriesOf(outline: unknown): readonly Entry[] {
  const columns = membersOf(outline)
  const first = Number(columns['first_seq'] ?? 0)
  const types = listOf(columns['types']).map(membersOf)
  const column = (name: string) => listOf(columns[name]) as readonly number[]
  const [parent, refers, at, size] = [column('parent'), column('refers'), column('at'), column('size')]
  let time = Number(columns['started_at'] ?? 0)
  return column('type').map((index, i) => {
    const seq = first + i
    const type = types[index] ?? {}
    const stored = textOf(type['kind'])
    const key = KEYS[stored]
    const source = type['source']
    time += at[i] ?? 0
    return {
      seq,
      kind: key === undefined ? stored : STATE_UPDATE,
      tool: key ?? textOf(type['tool']),
      from: source === 'user' || source === 'agent' ? source : 'environment',
      at: time,
      parent: parent[i] ? seq - parent[i] : 0,
      refers: refers[i] ? seq - refers[i] : 0,
      size: (size[i] ?? 0) * 64,
      event: undefined,
    }
  })
}

/** The entry of an outline with its event. References that the outline knows are kept. */
export function withEventOf(known: Entry, event: LogEvent, seqOf: SeqOf): Entry {
  const entry = entryOf(known.seq, event, seqOf)
  return { ...entry, parent: known.parent, refers: known.refers || entry.refers, size: known.size }
}

/** The reasoning of an answer, from whichever member has it. */
export function reasoningOf(event: LogEvent): string {
  const holder = event.kind === 'MessageEvent' ? membersOf(event['llm_message']) : event
  const blocks = listOf(holder['thinking_blocks']).map((block) => textOf(membersOf(block)['thinking']))
  const summary = listOf(membersOf(holder['responses_reasoning_item'])['summary']).map(textOf)
  return [textOf(holder['reasoning_content']), blocks.join('\n'), summary.join('\n')].find((text) => text !== '') ?? ''
}
