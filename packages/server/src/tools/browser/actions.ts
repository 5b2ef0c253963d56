/** The fourteen actions of the browser, as functions of a session. Source: agent-core.md 8.10. */
import type { BrowserAction } from '@parley/protocol'
import type { ElementHandle, Page } from 'playwright-core'
import { abortable } from '../../lib/index.ts'
import { Refusal } from '../refusal.ts'
import type { ToolContext } from '../tool.ts'
import { Elements } from './elements.ts'
import { goto, PAGE_MS, settled, webAddress, whyNot } from './page-loading.ts'
import { MAX_TEXT_CHARS, type ActionResult } from './observation.ts'
import { readPage } from './page-text.ts'
import { Recording } from './recording.ts'
import type { Session, Tab } from './session.ts'
import { KEPT, readStorage, writeStorage } from './storage.ts'

/** Milliseconds from a click on a link with a target to its tab; a loaded machine needs several seconds to start a renderer. */
const NEW_TAB_MS = 15_000
/** Characters reserved for the lines around a page's text. */
const FRAME_CHARS = 1_000

type Act<K extends BrowserAction['kind']> = (
  action: Extract<BrowserAction, { kind: K }>,
  session: Session,
  context: ToolContext,
) => Promise<ActionResult>

export const ACTIONS: { [K in BrowserAction['kind']]: Act<K> } = {
  async BrowserNavigateAction({ url, new_tab }, session) {
    const target = webAddress(url)
    const tab = await session.tabFor(new_tab)
    session.elements = null
    const answer = await goto(tab.page, target).catch(whyNot(url))
    await settled(tab.page)
    const status = answer === null || answer.ok() ? '' : ` The server answered with status ${answer.status()}.`
    return { text: `Opened ${await where(tab)}.${status}` }
  },

  async BrowserClickAction({ index, new_tab }, session) {
    const { element, row } = await elementOf(session, index)
    if (new_tab) return openInNewTab(element, row, session)
    const opened = Promise.withResolvers<Page>()
    const isOpening = await opensTab(element)
    if (isOpening) session.context.once('page', opened.resolve)
    try {
      await element.click().catch(whyNot(row))
      await settled(session.page)
      // A tab that the clicked link opens becomes the current tab; a tab opened by a script is only reported. The wait begins
      // after the click, which itself can take longer than this on a loaded machine.
      const page = isOpening ? await abortable(opened.promise, AbortSignal.timeout(NEW_TAB_MS)).catch(() => null) : null
      if (page !== null) await settled(session.show(page).page)
    } finally {
      session.context.off('page', opened.resolve)
    }
    return { text: `Clicked ${row}. Now on ${await where(session.tab)}.` }
  },

  async BrowserTypeAction({ index, text }, session) {
    const { element, row } = await elementOf(session, index)
    const tag = await element.evaluate((node) => (node as unknown as { tagName: string }).tagName.toLowerCase())
    if (tag === 'select') await choose(element, text, row)
    else await element.fill(text).catch(whyNot(row))
    await settled(session.page)
    return { text: `Typed into ${row}.` }
  },

  async BrowserScrollAction({ direction }, { page }) {
    const at = await page.evaluate<{ top: number; of: number }>(
      `(window.scrollBy(0, ${direction === 'down' ? '' : '-'}0.8 * innerHeight), ` +
        '{ top: Math.round(scrollY), of: Math.max(0, Math.round(document.documentElement.scrollHeight - innerHeight)) })',
    )
    return { text: `Scrolled ${direction}: ${at.top} of ${at.of} pixels.` }
  },

  async BrowserGoBackAction(_, session) {
    session.elements = null
    const answer = await session.page.goBack({ waitUntil: 'domcontentloaded', timeout: PAGE_MS })
    if (answer === null && session.page.url() === 'about:blank') return { text: 'There is nothing to go back to.' }
    await settled(session.page)
    return { text: `Went back to ${await where(session.tab)}.` }
  },

  async BrowserGetStateAction({ include_screenshot }, session) {
    await settled(session.page)
    const elements = await Elements.of(session.page)
    session.elements = elements
    const { rows } = elements
    const lines = [
      `URL: ${session.page.url()}`,
      `Title: ${await session.page.title()}`,
      `Tabs:\n${await tabRows(session)}`,
      rows.length === 0 ? 'There is nothing to click or to type into.' : `Elements:\n${rows.join('\n')}`,
    ]
    if (!include_screenshot) return { text: lines.join('\n') }
    const screenshot = await session.page.screenshot({ type: 'jpeg', quality: 70, animations: 'disabled' })
    return { text: lines.join('\n'), screenshot }
  },

  async BrowserGetContentAction({ extract_links, start_from_char: from }, session) {
    await settled(session.page)
    const text = await readPage(session.page, extract_links)
    if (from > 0 && from >= text.length)
      throw new Refusal(`start_from_char is ${from}, and the content has ${text.length} characters.`)
    const to = from + MAX_TEXT_CHARS - FRAME_CHARS
    const more =
      to < text.length ? `\n[Cut here. Go on with start_from_char ${to}; there are ${text.length} characters.]` : ''
    return { text: `Content of ${await where(session.tab)}:\n${text.slice(from, to)}${more}` }
  },

  async BrowserListTabsAction(_, session) {
    return { text: session.tabs.length === 0 ? 'No tab is open.' : await tabRows(session) }
  },

  async BrowserSwitchTabAction({ tab_id }, session) {
    const tab = session.switchTo(session.find(tab_id))
    await tab.page.bringToFront()
    return { text: `Switched to ${await where(tab)}.` }
  },

  async BrowserCloseTabAction({ tab_id }, session) {
    await session.find(tab_id).page.close()
    return { text: `Closed tab ${tab_id}.\n${session.tabs.length === 0 ? 'No tab is open.' : await tabRows(session)}` }
  },

  async BrowserGetStorageAction(_, session, context) {
    const state = await readStorage(session.context, context)
    const note = `Values are kept by the server and stand here as ${KEPT}; browser_set_storage fills them in again.`
    return { text: `${note}\n${JSON.stringify(state, null, 2)}` }
  },

  async BrowserSetStorageAction({ storage_state }, session, context) {
    const { cookies, origins } = await writeStorage(session.context, storage_state, context)
    const message = `The storage was replaced: ${cookies.length} cookies, local storage of ${origins.length} sites.`
    return { text: `${message} Open the page again to use it.` }
  },

  async BrowserStartRecordingAction(_, session) {
    if (session.recording !== null) throw new Refusal('A recording is running already. Stop it first.')
    session.recording = await Recording.start(session.page)
    return { text: `Recording tab ${session.tab.id}. Use browser_stop_recording to end it.` }
  },

  async BrowserStopRecordingAction(_, session, context) {
    const { recording } = session
    if (recording === null) throw new Refusal('No recording is running. Use browser_start_recording to begin one.')
    session.recording = null
    return { text: await recording.stop(context) }
  },
}

async function elementOf({ elements }: Session, index: number): Promise<{ element: ElementHandle; row: string }> {
  if (elements === null)
    throw new Refusal(
      'The page has changed or was not looked at yet. Use browser_get_state first: it gives elements their index.',
    )
  return { element: await elements.element(index).catch(whyNot(`[${index}]`)), row: elements.row(index) }
}

async function openInNewTab(element: ElementHandle, row: string, session: Session): Promise<ActionResult> {
  const href = await element.evaluate((node) => (node as unknown as { href?: unknown }).href)
  if (typeof href !== 'string') throw new Refusal(`${row} leads nowhere by itself; click it without new_tab.`)
  const target = webAddress(href)
  const tab = await session.tabFor(true)
  await goto(tab.page, target).catch(whyNot(href))
  await settled(tab.page)
  return { text: `Opened ${await where(tab)}.` }
}

async function choose(element: ElementHandle, text: string, row: string): Promise<void> {
  const options = await element.evaluate((node) =>
    [...(node as unknown as { options: Iterable<{ label: string; value: string }> }).options].map(
      ({ label, value }) => ({
        label: label.trim(),
        value,
      }),
    ),
  )
  const found = options.find(({ label }) => label === text.trim()) ?? options.find(({ value }) => value === text)
  if (found === undefined)
    throw new Refusal(
      `${row} has no option ${JSON.stringify(text)}. Options: ${options.map(({ label }) => label).join(', ')}`,
    )
  await element.selectOption({ value: found.value }).catch(whyNot(row))
}

const opensTab = (element: ElementHandle): Promise<boolean> =>
  element.evaluate((node) => {
    const target = (node as unknown as { closest(of: string): { target?: string } | null }).closest('a[target]')?.target
    return target !== undefined && !['', '_self', '_top', '_parent'].includes(target)
  })

async function where({ id, page }: Tab): Promise<string> {
  const title = await page.title().catch(() => '')
  return `${page.url()}${title === '' ? '' : ` (${title})`} in tab ${id}`
}

async function tabRows(session: Session): Promise<string> {
  const current = session.tabs.length === 0 ? null : session.tab
  const rows = session.tabs.map(
    async (tab) => `${tab === current ? '*' : ' '} ${tab.id}: ${(await where(tab)).replace(/ in tab \d+$/, '')}`,
  )
  return (await Promise.all(rows)).join('\n')
}
