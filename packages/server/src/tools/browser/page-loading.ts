/** Navigation between pages, and its errors. */
import type { Page, Response } from 'playwright-core'
import { Refusal } from '../refusal.ts'

/** Milliseconds for loading a page. */
export const PAGE_MS = 60_000
/** Milliseconds for a page to settle after an action. */
const SETTLE_MS = 5_000

/** Returns a normalised http or https address. Files and internal pages of the browser are refused. @throws Refusal */
export function webAddress(url: string): string {
  const text = url.trim()
  if (text === 'about:blank') return text
  const full = /^[a-z][a-z\d+.-]*:(?!\d)/i.test(text) ? text : `https://${text}`
  const parsed = URL.parse(full)
  if (parsed === null) throw new Refusal(`${url} is not an address.`)
  if (parsed.protocol !== 'http:' && parsed.protocol !== 'https:')
    throw new Refusal(
      `${url} cannot be opened: only addresses with http and https can. Look at files with other tools.`,
    )
  return parsed.href
}

/** Returns the response of the page; null where there is none. */
export async function goto(page: Page, url: string): Promise<Response | null> {
  try {
    return await page.goto(url, { waitUntil: 'domcontentloaded', timeout: PAGE_MS })
  } catch (error) {
    // The browser's error page is loaded a moment later and would interrupt the next navigation.
    if (error instanceof Error && error.message.includes('net::ERR_'))
      await page.waitForURL(/^chrome-error:/, { timeout: SETTLE_MS }).catch(() => undefined)
    throw error
  }
}

/** Waits until the consequences of an action have begun or are not expected. A page that never settles is no error. */
export async function settled(page: Page): Promise<void> {
  await page.waitForLoadState('domcontentloaded', { timeout: SETTLE_MS }).catch(() => undefined)
  await page.waitForLoadState('networkidle', { timeout: 500 }).catch(() => undefined)
}

/** Throws a Refusal with the browser's own message, without the log that its library adds. */
export function whyNot(what: string): (error: unknown) => never {
  return (error) => {
    if (error instanceof Refusal) throw error
    const message = error instanceof Error ? error.message : String(error)
    const [first = ''] = message.split('\n')
    const hint = /not attached|was detached|Execution context was destroyed/.test(message)
      ? ' The page has changed; use browser_get_state again.'
      : ''
    throw new Refusal(`${what}: ${first.replace(/^\w+\.\w+: /, '')}${hint}`)
  }
}
