/** Interactive elements of a page, each with an index that is valid until the page is read again. */
import type { ElementHandle, Frame, JSHandle, Page } from 'playwright-core'
import { Refusal } from '../refusal.ts'

const MAX_ELEMENTS = 1_000

/** Runs in the page; includes open shadow trees. The value of a password field is never read. */
const COLLECT = `(() => {
  const selector = 'a[href],button,input:not([type=hidden]),select,textarea,summary,[contenteditable=""],[contenteditable=true],' +
    '[onclick],[role=button],[role=link],[role=checkbox],[role=radio],[role=switch],[role=tab],[role=menuitem],[role=option],' +
    '[role=combobox],[role=textbox],[role=searchbox],[role=slider],[tabindex]:not([tabindex="-1"])'
  const cut = (text, length) => {
    const tidy = String(text ?? '').replace(/\\s+/g, ' ').trim()
    return tidy.length > length ? tidy.slice(0, length) + '…' : tidy
  }
  const isShown = (element) => {
    const { width, height } = element.getBoundingClientRect()
    return width > 0 && height > 0 && element.checkVisibility({ checkVisibilityCSS: true })
  }
  const nameOf = (element) => element.getAttribute('aria-label') || element.labels?.[0]?.innerText || element.innerText ||
    element.getAttribute('alt') || element.getAttribute('title') || element.querySelector?.('img[alt]')?.alt || ''
  const describe = (element) => {
    const tag = element.tagName.toLowerCase()
    const parts = []
    const add = (name, value) => { if (value) parts.push(name + '=' + JSON.stringify(cut(value, 120))) }
    for (const name of ['type', 'role', 'name', 'placeholder', 'href', 'aria-expanded', 'aria-selected', 'aria-checked'])
      add(name, element.getAttribute(name))
    if (tag === 'select') add('selected', element.selectedOptions[0]?.innerText)
    else if (tag === 'input' || tag === 'textarea') {
      if (element.type === 'checkbox' || element.type === 'radio') { if (element.checked) parts.push('checked') }
      else if (element.type === 'password') { if (element.value) parts.push('filled') }
      else add('value', element.value)
    }
    if (element.disabled) parts.push('disabled')
    const text = tag === 'select' ? cut(element.labels?.[0]?.innerText, 120) : cut(nameOf(element), 200)
    return '<' + [tag, ...parts].join(' ') + '>' + (text ? ' ' + text : '')
  }
  const elements = [], rows = []
  const visit = (root) => {
    for (const element of root.querySelectorAll('*')) {
      if (elements.length >= ${MAX_ELEMENTS}) return
      if (element.matches(selector) && isShown(element)) { elements.push(element); rows.push(describe(element)) }
      if (element.shadowRoot) visit(element.shadowRoot)
    }
  }
  visit(document)
  return { elements, rows }
})()`

type Held = { elements: unknown[]; rows: string[] }
type Part = { handle: JSHandle<Held>; rows: string[] }

/** The elements of a page at the time it was read. */
export class Elements {
  readonly #parts: readonly Part[]

  private constructor(parts: readonly Part[]) {
    this.#parts = parts
  }

  /** Reads the elements of a page and its frames. */
  static async of(page: Page): Promise<Elements> {
    const parts = await Promise.all(page.frames().map(collect))
    return new Elements(parts.filter((part) => part !== null))
  }

  /** One line per element, index first. */
  get rows(): string[] {
    return this.#parts.flatMap(({ rows }) => rows).map((row, index) => `[${index}]${row}`)
  }

  /** Returns the row of an element. */
  row(index: number): string {
    return this.rows[index] ?? `[${index}]`
  }

  /** @throws Refusal for an index that was not listed. */
  async element(index: number): Promise<ElementHandle> {
    let at = index
    for (const { handle, rows } of this.#parts) {
      if (at < rows.length) {
        const found = (await handle.evaluateHandle((held, i) => held.elements[i], at)).asElement()
        if (found !== null) return found as ElementHandle
        break
      }
      at -= rows.length
    }
    throw new Refusal(`There is no element [${index}]. Use browser_get_state to see which there are.`)
  }
}

async function collect(frame: Frame): Promise<Part | null> {
  try {
    const handle = (await frame.evaluateHandle(COLLECT)) as JSHandle<Held>
    return { handle, rows: await handle.evaluate((held) => held.rows) }
  } catch (error) {
    // A frame may disappear at any moment; the page may not.
    if (frame.parentFrame() === null) throw error
    return null
  }
}
