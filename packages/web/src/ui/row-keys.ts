/** Moving between the rows of a page with `j` and `k`. Rows are the elements with the attribute `data-row`; Enter opens a link. */
import { en } from '../words/en.ts'
import { useKeys } from './keys.ts'

export function useRowKeys(): void {
  useKeys([
    { keys: 'j', label: en.keys.next, run: () => move(1) },
    { keys: 'k', label: en.keys.previous, run: () => move(-1) },
  ])
}

function move(step: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>('main [data-row]')]
  const at = rows.indexOf(document.activeElement as HTMLElement)
  const next = at === -1 ? (step === 1 ? 0 : rows.length - 1) : at + step
  rows[next]?.focus()
}
