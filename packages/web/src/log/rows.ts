/**
 * Rows of a timeline from the entries of a log. Pure.
 *
 * An action and its result are one row. A turn reaches from one message of the user to the next. Control events are marks, or nothing.
 * Entries of other branches give no rows.
 */
import { type Entry, isTree } from './entry.ts'
import { textOf } from './read.ts'

export type RowType = 'message' | 'tool' | 'mark' | 'error' | 'condensation' | 'prompt' | 'hook' | 'start' | 'unknown'

export type Row = {
  /** Never changes while the row exists. */
  readonly key: string
  readonly type: RowType
  /** The event that began the row. */
  readonly seq: number
  /** The result of a call, or the newest event of a row that progresses; 0 without. */
  readonly answer: number
  /** The user's message that began the turn; 0 before the first. */
  readonly turn: number
  readonly from: Entry['from']
  /** Kind of a mark, or the name of a tool. */
  readonly name: string
  /** Bytes of the events, for the first estimate of the height; 0 when unknown. */
  readonly size: number
}

/** Keys of state updates that are shown as a mark. */
const MARKS = new Set(['approval', 'confirmation_policy', 'leaf_event_id', 'model_retry', 'agent', 'goal'])
const TYPES: Readonly<Record<string, RowType>> = {
  MessageEvent: 'message',
  SystemPromptEvent: 'prompt',
  ConversationErrorEvent: 'error',
  AgentErrorEvent: 'error',
  Condensation: 'condensation',
  PauseEvent: 'mark',
  InterruptEvent: 'mark',
}
const WITHOUT_ROW = new Set(['CondensationRequest', 'TokenEvent', 'LLMCompletionLogEvent'])

/** Appends rows, entry by entry. */
export class RowBuilder {
  readonly rows: Row[] = []
  /** Index of the row by the `seq` of its action. */
  readonly #calls = new Map<number, number>()
  /** Index of the row of a call of an external agent by its id. */
  readonly #external = new Map<string, number>()
  readonly #keys: (seq: number) => string | undefined
  #turn = 0
  /** Index of the row of the start that is under way: its phases are one row until the exchange continues. */
  #start: number | undefined

  /** @param keys the key that a row had before its event was stored: that of a message that was being sent, or of a streamed answer */
  constructor(keys: (seq: number) => string | undefined = () => undefined) {
    this.#keys = keys
  }

  /** Adds an entry; returns false when it changed nothing. */
  add(entry: Entry): boolean {
    if (entry.refers !== 0 && isTree(entry) && this.#update(this.#calls.get(entry.refers), entry)) return true
    if (entry.kind === 'ConversationStateUpdateEvent') return this.#control(entry)
    if (entry.kind !== 'SystemPromptEvent') this.#start = undefined
    if (entry.kind === 'MessageEvent' && entry.from === 'user') this.#turn = entry.seq
    if (entry.kind === 'ActionEvent') this.#calls.set(entry.seq, this.rows.length)
    if (entry.kind === 'ActionEvent') return this.#push(entry, 'tool', entry.tool)
    if (entry.kind === 'ACPToolCallEvent') return this.#progress(entry)
    if (entry.kind === 'HookExecutionEvent') return isNotable(entry) && this.#push(entry, 'hook')
    if (WITHOUT_ROW.has(entry.kind)) return false
    return this.#push(entry, TYPES[entry.kind] ?? 'unknown', entry.kind)
  }

  #update(index: number | undefined, entry: Entry): boolean {
    const row = index === undefined ? undefined : this.rows[index]
    if (index === undefined || row === undefined) return false
    this.rows[index] = { ...row, answer: entry.seq, size: row.size + entry.size }
    return true
  }

  /** The events of one call of an external agent are one row, which shows the newest. */
  #progress(entry: Entry): boolean {
    const call = textOf(entry.event?.['tool_call_id'])
    if (call !== '' && this.#update(this.#external.get(call), entry)) return true
    this.#external.set(call, this.rows.length)
    return this.#push(entry, 'tool', 'acp')
  }

  #control(entry: Entry): boolean {
    if (entry.tool === 'start_phase') {
      if (this.#update(this.#start, entry)) return true
      this.#start = this.rows.length
      return this.#push(entry, 'start')
    }
    // What is set before the first message is how the conversation begins, and no change of it.
    return this.#turn !== 0 && MARKS.has(entry.tool) && this.#push(entry, 'mark', entry.tool)
  }

  #push(entry: Entry, type: RowType, name = ''): boolean {
    const { seq, from, size } = entry
    const key = this.#keys(seq) ?? String(seq)
    this.rows.push({ key, type, seq, answer: 0, turn: this.#turn, from, name, size })
    return true
  }
}

/** Hooks are shown when they blocked, failed or added something. */
function isNotable({ event }: Entry): boolean {
  if (event === undefined) return false
  return event['blocked'] === true || event['success'] === false || textOf(event['additional_context']) !== ''
}

/** The entries of the branch that ends at `leaf`, with the control events that follow them. */
export function branchOf(entries: readonly Entry[], leaf: number): readonly Entry[] {
  const parents = new Map<number, number>()
  for (const entry of entries) if (isTree(entry)) parents.set(entry.seq, entry.parent)
  const onBranch = new Set<number>()
  for (let at = leaf; at !== 0 && !onBranch.has(at); at = parents.get(at) ?? 0) onBranch.add(at)
  let follows = true
  return entries.filter((entry) => {
    if (isTree(entry)) follows = onBranch.has(entry.seq)
    return follows || entry.tool === 'leaf_event_id'
  })
}

/** Most events of an outline add nothing to the rows when they are loaded. */
export function changesRows(known: Entry, entry: Entry): boolean {
  const isMark = entry.kind === 'HookExecutionEvent' || entry.kind === 'ACPToolCallEvent' || known.tool === 'state'
  return isMark || known.refers !== entry.refers || known.parent !== entry.parent
}

/** The row that is known when it is the same, so that it is not drawn again. */
export function sameRow(known: Row | undefined, row: Row): Row {
  if (known === undefined) return row
  const members = Object.keys(row) as (keyof Row)[]
  return members.every((member) => known[member] === row[member]) ? known : row
}
