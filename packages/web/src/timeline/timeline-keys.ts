/** Keys of the timeline: rows, turns, the end. */
import { useKeys } from '../ui/keys.ts'
import { conversation as words } from '../words/conversation.en.ts'
import { useView } from './context.ts'
import type { Item } from './items.ts'

type List = {
  scrollToIndex(index: number, options: { align: 'auto' | 'start' }): void
  scrollToEnd(): void
  readonly range: { startIndex: number; endIndex: number } | null
}

const isTurn = (item: Item | undefined) =>
  item?.type === 'pending' || (item?.type === 'row' && item.row.type === 'message' && item.row.from === 'user')
const isError = (item: Item | undefined) => item?.type === 'row' && item.row.type === 'error'

export function useTimelineKeys(list: List, items: readonly Item[]): void {
  const { rows } = useView()
  const at = () => {
    const index = items.findIndex(({ key }) => key === rows.current())
    return index === -1 ? (list.range?.endIndex ?? items.length) : index
  }
  const go = (index: number, align: 'auto' | 'start' = 'auto') => {
    const item = items[index]
    if (item === undefined) return
    rows.setCurrent(item.key)
    list.scrollToIndex(index, { align })
    focusRow(item.key)
  }
  const find = (step: 1 | -1, wanted: (item: Item | undefined) => boolean) => {
    for (let index = at() + step; index >= 0 && index < items.length; index += step)
      if (wanted(items[index])) return go(index, 'start')
  }
  const button = () => current(rows.current())?.querySelector<HTMLElement>('[aria-expanded]')
  const press = (key: string) => () => current(rows.current())?.querySelector<HTMLElement>(`[data-key=${key}]`)?.click()
  useKeys([
    { keys: 'j', label: words.keys.next, run: () => go(Math.min(items.length - 1, at() + 1)) },
    { keys: 'k', label: words.keys.previous, run: () => go(Math.max(0, at() - 1)) },
    { keys: 'Enter', label: words.keys.open, run: () => pressEnter(button()) },
    { keys: '[', label: words.keys.previousTurn, run: () => find(-1, isTurn) },
    { keys: ']', label: words.keys.nextTurn, run: () => find(1, isTurn) },
    { keys: '{', label: words.keys.previousError, run: () => find(-1, isError) },
    { keys: '}', label: words.keys.nextError, run: () => find(1, isError) },
    { keys: 'End', label: words.keys.end, run: () => list.scrollToEnd() },
    { keys: 'y', label: words.copyText, run: press('y') },
    { keys: 'f', label: words.forkHere, run: press('f') },
    { keys: 'b', label: words.goBackHere, run: press('b') },
    { keys: 'r', label: words.sendAgain, run: press('r') },
  ])
}

const current = (key: string) => document.querySelector<HTMLElement>(`.row[data-key="${CSS.escape(key)}"]`)

/** A button or link that has the focus is pressed by the browser's own rule; otherwise the row opens. */
function pressEnter(button: HTMLElement | null | undefined): void {
  const focused = document.activeElement
  if (focused instanceof HTMLElement && focused.matches('button, a, summary')) focused.click()
  else button?.click()
}

/** Focuses a row when it is mounted: after a jump that takes a few frames. */
function focusRow(key: string, tries = 10): void {
  const row = current(key)
  if (row !== null) row.focus({ preventScroll: true })
  else if (tries > 0) requestAnimationFrame(() => focusRow(key, tries - 1))
}
