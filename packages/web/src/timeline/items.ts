/** What the virtual list shows: rows of the log, then messages that are being sent, then the answer that is being written. Pure. */
import type { EventLog } from '../log/event-log.ts'
import type { PendingMessage } from '../log/pending.ts'
import type { Row } from '../log/rows.ts'
import { statusOf } from '../log/state.ts'

export type Item =
  | { readonly type: 'row'; readonly key: string; readonly row: Row }
  | { readonly type: 'pending'; readonly key: string; readonly message: PendingMessage }
  | { readonly type: 'streaming'; readonly key: string }
  /** `since`: milliseconds since 1970. */
  | { readonly type: 'working'; readonly key: string; readonly since: number }

/** Returns a function that gives the same list until one of its items changes. */
export function itemsOf(log: EventLog): () => readonly Item[] {
  const byRow = new WeakMap<Row, Item>()
  let known: { rows: unknown; pending: unknown; tail: string; isWorking: boolean } | undefined
  let items: readonly Item[] = []
  const itemOf = (row: Row): Item => {
    let item = byRow.get(row)
    if (item === undefined) byRow.set(row, (item = { type: 'row', key: row.key, row }))
    return item
  }
  return () => {
    const [rows, pending, tail] = [log.rows(), log.pending.items(), log.tail()?.key ?? '']
    const isWorking = tail === '' && waitsForModel(log, rows)
    const isSame = known?.rows === rows && known.pending === pending && known.tail === tail
    if (isSame && known?.isWorking === isWorking) return items
    known = { rows, pending, tail, isWorking }
    items = [
      ...rows.map(itemOf),
      ...pending.map((message): Item => ({ type: 'pending', key: message.key, message })),
      ...(tail === '' ? [] : [{ type: 'streaming', key: tail } as const]),
      ...(isWorking ? [{ type: 'working', key: 'working', since: log.entries.at(-1)?.at ?? Date.now() } as const] : []),
    ]
    return items
  }
}

/** True while a run is under way and no call is: the model has been asked and has written nothing yet. */
function waitsForModel(log: EventLog, rows: readonly Row[]): boolean {
  if (statusOf(log.state()) !== 'running') return false
  const last = rows.at(-1)
  return !(last?.type === 'tool' && last.answer === 0)
}

/** First estimate of the height of an item in pixels; measured heights replace it. */
export function estimateOf(item: Item | undefined): number {
  if (item === undefined) return 36
  if (item.type !== 'row') return item.type === 'working' ? 36 : 76
  const { type, size } = item.row
  if (type === 'message') return 64 + Math.ceil(Math.max(0, size - 640) / 90) * 22
  return type === 'error' ? 96 : 36
}
