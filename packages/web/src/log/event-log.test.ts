import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { entriesOf } from './entry.ts'
import { EventLog } from './event-log.ts'
import type { LogEvent } from './read.ts'
import { statusOf, waitingBatch } from './state.ts'

type Made = { seq: number; event: LogEvent }

const at = (seq: number) => new Date(1_795_000_000_000 + seq * 1000).toISOString().replace('Z', '')
const message = (seq: number, source: string, parent: string | null, text = `text ${seq}`): Made => ({
  seq,
  event: {
    kind: 'MessageEvent',
    id: `e${seq}`,
    timestamp: at(seq),
    source,
    parent_id: parent,
    llm_message: { role: source, content: [{ type: 'text', text }] },
  },
})
const action = (seq: number, parent: string | null): Made => ({
  seq,
  event: {
    kind: 'ActionEvent',
    id: `e${seq}`,
    timestamp: at(seq),
    source: 'agent',
    parent_id: parent,
    tool_name: 'terminal',
    tool_call_id: `c${seq}`,
    llm_response_id: `r${seq}`,
    thought: [],
    action: { kind: 'TerminalAction', command: 'ls' },
  },
})
const result = (seq: number, parent: string, of: number): Made => ({
  seq,
  event: {
    kind: 'ObservationEvent',
    id: `e${seq}`,
    timestamp: at(seq),
    source: 'environment',
    parent_id: parent,
    tool_name: 'terminal',
    tool_call_id: `c${of}`,
    action_id: `e${of}`,
    observation: { kind: 'TerminalObservation', content: [] },
  },
})
const update = (seq: number, key: string, value: unknown): Made => ({
  seq,
  event: {
    kind: 'ConversationStateUpdateEvent',
    id: `e${seq}`,
    timestamp: at(seq),
    source: 'environment',
    key,
    value,
  },
})
const frame = ({ seq, event }: Made) => ({ type: 'event', seq, event })
const logOf = (...made: Made[]) => {
  const log = new EventLog(() => 0)
  log.take(made.map(frame))
  return log
}
const shapes = (log: EventLog) => log.rows().map(({ key, type, answer }) => [key, type, answer])

/** A log with calls, results, marks and navigations. */
const history = fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 60 }).map((choices) => {
  const made: Made[] = []
  let leaf: string | null = null
  let open = 0
  choices.forEach((choice, index) => {
    const seq = index + 1
    const earlier = made.filter(({ event }) => event.kind !== 'ConversationStateUpdateEvent')
    if (choice === 9 && earlier.length > 0) {
      leaf = earlier[(seq * 7) % earlier.length]!.event.id
      made.push(update(seq, 'leaf_event_id', leaf))
      return
    }
    if (choice === 8) return void made.push(update(seq, 'execution_status', 'running'))
    if (choice > 4 && open > 0) made.push(result(seq, leaf!, open))
    else if (choice > 2) made.push(action(seq, leaf))
    else made.push(message(seq, choice === 0 ? 'user' : 'agent', leaf))
    const { event } = made.at(-1)!
    open = event.kind === 'ActionEvent' ? seq : 0
    leaf = event.id
  })
  return made
})

/** The outline of a log, as the server makes it. */
function outlineOf(made: readonly Made[]): unknown {
  const seqs = new Map(made.map(({ seq, event }) => [event.id, seq]))
  const distance = (seq: number, id: unknown) => (typeof id === 'string' ? seq - (seqs.get(id) ?? seq) : 0)
  const isUpdate = ({ event }: Made) => event.kind === 'ConversationStateUpdateEvent'
  return {
    first_seq: made[0]?.seq ?? 0,
    started_at: 1_795_000_001_000,
    types: made.map(({ event }) => ({
      kind:
        event['key'] === 'leaf_event_id'
          ? 'LeafMovedEvent'
          : event.kind === 'ConversationStateUpdateEvent'
            ? 'StatusChangedEvent'
            : event.kind,
      source: event.source,
      tool: event['tool_name'],
    })),
    type: made.map((_, index) => index),
    parent: made.map((one) => (isUpdate(one) ? 0 : distance(one.seq, one.event.parent_id))),
    refers: made.map(({ seq, event }) =>
      distance(seq, event['key'] === 'leaf_event_id' ? event['value'] : event['action_id']),
    ),
    at: made.map(() => 1000),
    size: made.map(() => 1),
  }
}

describe('EventLog', () => {
  it('an action and its result are one row whose key stays', () => {
    const log = logOf(message(1, 'user', null), action(2, 'e1'))
    const before = log.rows()[1]!.key
    log.take([frame(result(3, 'e2', 2))])
    expect(shapes(log)).toEqual([
      ['1', 'message', 0],
      [before, 'tool', 3],
    ])
  })

  it('a frame that comes twice gives one row', () => {
    const log = logOf(message(1, 'user', null), message(1, 'user', null))
    expect(log.rows()).toHaveLength(1)
  })

  it('the row of a sent message keeps its key when the message is stored', () => {
    const log = new EventLog(() => 0)
    log.pending.add({ id: 'e1', text: 'hello', images: [], status: 'sending', at: 0 })
    const { key } = log.pending.items()[0]!
    log.take([frame(message(1, 'user', null, 'hello'))])
    expect([log.pending.items().length, log.rows()[0]!.key]).toEqual([0, key])
  })

  it('a streamed text ends with the stored answer, which takes over its row', () => {
    const log = logOf(message(1, 'user', null))
    log.take([
      { type: 'delta', content: 'Hel' },
      { type: 'delta', content: 'lo' },
    ])
    const tail = log.tail()!
    log.take([frame(message(2, 'agent', 'e1', 'Hello'))])
    expect([tail.text, log.tail(), log.rows()[1]!.key]).toEqual(['Hello', null, tail.key])
  })

  it('pieces with places give the text of a client that joined in the middle, also after a break', () => {
    const log = logOf(message(1, 'user', null))
    const at = { response_id: 'r', part: 1 }
    const reasoning = { part: 0, kind: 'reasoning_content', offset: 0, text: 'why' }
    const parts = [reasoning, { part: 1, kind: 'content', offset: 0, text: 'Hel' }]
    log.take([
      { type: 'partial', response_id: 'r', parts, tool_calls: [] },
      { type: 'delta', ...at, offset: 3, content: 'lo' },
    ])
    log.breakStream()
    log.take([{ type: 'delta', ...at, offset: 4, content: 'o you' }])
    expect([log.tail()?.text, log.tail()?.reasoning, log.tail()?.isBroken]).toEqual(['Hello you', 'why', false])
    log.take([{ type: 'tool_call', response_id: 'r', index: 0, name: 'terminal', chars: 9 }])
    expect(log.tail()?.tool).toBe('terminal')
    log.take([{ type: 'delta', response_id: 'r2', part: 0, offset: 0, content: 'Again' }])
    expect([log.tail()?.text, log.tail()?.tool]).toEqual(['Again', ''])
  })

  it('a navigation shows the branch of the new leaf only', () => {
    const log = logOf(
      message(1, 'user', null),
      message(2, 'agent', 'e1'),
      update(3, 'leaf_event_id', 'e1'),
      message(4, 'agent', 'e1'),
    )
    expect(log.rows().map(({ seq }) => seq)).toEqual([1, 3, 4])
  })

  it('a batch waits until its decision, also when it is older than the snapshot', () => {
    const log = new EventLog(() => 0)
    log.take([{ type: 'snapshot', seq: 9, state: { execution_status: 'waiting_for_confirmation' } }])
    log.take([frame(update(8, 'confirmation_request', { batch_id: 'e8', actions: [] }))])
    expect(waitingBatch(log.state())?.['batch_id']).toBe('e8')
    log.take([frame(update(10, 'approval', { batch_id: 'e8', decision: 'accept' }))])
    expect(waitingBatch(log.state())).toBeNull()
    log.take([frame(update(11, 'execution_status', 'running'))])
    expect(statusOf(log.state())).toBe('running')
  })

  it('rows of an outline are those of the whole log, whatever was loaded', () => {
    fc.assert(
      fc.property(history, fc.integer({ min: 0, max: 60 }), fc.integer({ min: 1, max: 7 }), (made, cut, step) => {
        const whole = logOf(...made)
        const [old, live] = [made.slice(0, cut), made.slice(cut)]
        const log = new EventLog(() => 0)
        log.takeOutline(entriesOf(outlineOf(old)))
        const loaded = old.toSorted((a, b) => (a.seq % step) - (b.seq % step))
        for (const { seq, event } of loaded) log.takeEvents([[seq, event]])
        for (const one of live) log.take([frame(one)])
        expect(shapes(log)).toEqual(shapes(whole))
      }),
    )
  })

  it('a new outline shows the branch after a navigation to an event that was never loaded', () => {
    const made = [message(1, 'user', null), message(2, 'agent', 'e1'), message(3, 'user', 'e2')]
    const log = new EventLog(() => 0)
    log.takeOutline(entriesOf(outlineOf(made)))
    const all = [...made, update(4, 'leaf_event_id', 'e1')]
    log.take([frame(all[3]!)])
    expect(log.needsOutline).toBe(true)
    log.takeOutline(entriesOf(outlineOf(all)))
    expect(log.rows().map(({ seq }) => seq)).toEqual([1, 4])
  })

  it('rows that exist keep their key and place when events are appended', () => {
    fc.assert(
      fc.property(history, (made) => {
        const log = new EventLog(() => 0)
        let before: string[] = []
        for (const one of made) {
          log.take([frame(one)])
          const keys = log.rows().map(({ key }) => key)
          if (one.event['key'] !== 'leaf_event_id') expect(keys.slice(0, before.length)).toEqual(before)
          before = keys
        }
      }),
    )
  })
})
