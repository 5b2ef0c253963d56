/** Commands of the agent and of the person in the order of their times. Pure. */
import { type LogEvent, timeOf } from '../../log/read.ts'
import type { Row } from '../../log/rows.ts'
import type { OwnCommand } from './own-commands.ts'

export type Item =
  | { readonly type: 'agent'; readonly key: string; readonly row: Row }
  | { readonly type: 'own'; readonly key: string; readonly own: OwnCommand }

/** @param isWhole false when the agent has earlier commands; the person's before them are then left out, too */
export function itemsOf(
  rows: readonly Row[],
  own: readonly OwnCommand[],
  isWhole: boolean,
  eventOf: (seq: number) => LogEvent | undefined,
): Item[] {
  const items: Item[] = []
  let next = 0
  // A command that is not loaded has the time of the one before.
  let time = isWhole ? -Infinity : Infinity
  for (const row of rows) {
    const at = timeOf(eventOf(row.seq)?.timestamp)
    if (at !== null && time === Infinity) while (own[next] !== undefined && own[next]!.at < at) next += 1
    time = at ?? time
    for (; own[next] !== undefined && own[next]!.at < time && time !== Infinity; next++) items.push(ownItem(own[next]!))
    items.push({ type: 'agent', key: row.key, row })
  }
  return [...items, ...own.slice(next).map(ownItem)]
}

const ownItem = (own: OwnCommand): Item => ({ type: 'own', key: own.id, own })
