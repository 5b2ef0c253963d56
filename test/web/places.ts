/** Where the timeline of a page is, in a real browser. */
import type { Page } from 'playwright-core'

/** True while the end of the timeline is in view. */
export const AT_END = `{ const l = document.querySelector('.timeline-scroll'); l.scrollHeight - l.scrollTop - l.clientHeight < 80 }`
/** The first row that is wholly visible: its seq and its place. */
const FIRST_ROW = `(() => {
  const list = document.querySelector('.timeline-scroll')
  const { top } = list.getBoundingClientRect()
  const row = [...list.querySelectorAll('.row[data-seq]')].find((one) => one.getBoundingClientRect().top >= top)
  return [Number(row.dataset.seq), Math.round(row.getBoundingClientRect().top)]
})()`

/** Resolves to the `seq` and the place of the first row that is wholly visible. */
export const firstRow = (page: Page) => page.evaluate<[number, number]>(FIRST_ROW)
