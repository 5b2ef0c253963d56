/** One running browser: its tabs, the elements last read in them, and events that no action caused. */
import type { BrowserContext, Page } from 'playwright-core'
import { Refusal } from '../refusal.ts'
import type { Elements } from './elements.ts'
import type { Launched } from './launch.ts'
import type { Recording } from './recording.ts'

/** Milliseconds for an action on one element. */
const ELEMENT_MS = 10_000
/** Limit of unreported notes of pages. */
const MAX_NOTES = 20

export type Tab = { id: string; page: Page }

export class Session {
  readonly context: BrowserContext
  readonly #launched: Launched
  readonly #tabs: Tab[] = []
  #made = 0
  #current: Tab | null = null
  #notes: string[] = []
  /** Elements of the current tab; null: not read since the tab changed. */
  elements: Elements | null = null
  recording: Recording | null = null

  private constructor(launched: Launched, context: BrowserContext) {
    this.#launched = launched
    this.context = context
  }

  /** Opens the session of a browser that was just started. */
  static async of(launched: Launched): Promise<Session> {
    const [context] = launched.browser.contexts()
    if (context === undefined) throw new Refusal('The browser has no window.')
    const session = new Session(launched, context)
    context.setDefaultTimeout(ELEMENT_MS)
    const downloads = await launched.browser.newBrowserCDPSession()
    await downloads.send('Browser.setDownloadBehavior', { behavior: 'deny' })
    for (const page of context.pages()) session.#add(page)
    context.on('page', (page) => session.#add(page))
    if (session.#current === null) await context.newPage()
    return session
  }

  get isAlive(): boolean {
    return this.#launched.browser.isConnected()
  }

  get tabs(): readonly Tab[] {
    return this.#tabs
  }

  /** The tab that actions apply to. */
  get tab(): Tab {
    if (this.#current !== null) return this.#current
    throw new Refusal('Every tab is closed. Use browser_navigate to open a page.')
  }

  get page(): Page {
    return this.tab.page
  }

  /** Returns a tab for a navigation: the current one, or a new one where there is none or one is requested. */
  async tabFor(isNew: boolean): Promise<Tab> {
    if (!isNew && this.#current !== null) return this.#current
    const page = await this.context.newPage()
    return this.show(page)
  }

  /** Makes a page that an action opened the current tab, without a note. */
  show(page: Page): Tab {
    const tab = this.#add(page)
    this.#notes = this.#notes.filter((note) => note !== opened(tab))
    return this.switchTo(tab)
  }

  /** @throws Refusal with the existing tabs. */
  find(id: string): Tab {
    const found = this.#tabs.find((tab) => tab.id === id)
    if (found !== undefined) return found
    const ids = this.#tabs.map((tab) => tab.id).join(', ') || 'none'
    throw new Refusal(`There is no tab ${id}. Tabs: ${ids}.`)
  }

  switchTo(tab: Tab): Tab {
    if (this.#current !== tab) this.elements = null
    this.#current = tab
    return tab
  }

  note(text: string): void {
    if (this.#notes.length < MAX_NOTES) this.#notes.push(text)
  }

  /** Returns the events that no action caused, since the last call. */
  takeNotes(): string[] {
    const notes = this.#notes
    this.#notes = []
    return notes
  }

  #add(page: Page): Tab {
    const known = this.#tabs.find((tab) => tab.page === page)
    if (known !== undefined) return known
    const tab = { id: String(++this.#made), page }
    this.#tabs.push(tab)
    page.on('dialog', (dialog) => {
      this.note(`The page showed a ${dialog.type()} saying ${JSON.stringify(dialog.message())}; it was dismissed.`)
      dialog.dismiss().catch(() => undefined)
    })
    page.on('download', (download) => this.note(`The download of ${download.suggestedFilename()} was refused.`))
    page.on('crash', () => this.note(`The page in tab ${tab.id} crashed.`))
    page.once('close', () => {
      this.#tabs.splice(this.#tabs.indexOf(tab), 1)
      if (this.#current !== tab) return
      this.#current = null
      const last = this.#tabs.at(-1)
      if (last !== undefined) this.switchTo(last)
    })
    if (this.#current === null) this.#current = tab
    else this.note(opened(tab))
    return tab
  }

  /** Ends the browser and its child processes. */
  async close(): Promise<void> {
    this.recording?.abandon()
    // The browser ends when its pipe is closed; otherwise its process group is killed.
    await this.#launched.process[Symbol.asyncDispose]()
  }
}

const opened = ({ id }: Tab): string => `The page opened tab ${id}; browser_switch_tab goes there.`
