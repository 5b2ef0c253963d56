/** Getting from page to page, and what goes wrong on the way. */
import type { Page, Response } from 'playwright-core'
import { Refusal } from '../file-editor/refusal.ts'

/** Milliseconds until a page has to be there. */
export const PAGE_MS = 60_000
/** Milliseconds that a page gets to settle after something was done to it. */
export const SETTLE_MS = 5_000

/** An address of the web. Files, and pages of the browser about itself, are nobody's business here. @throws Refusal */
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

/** The page's answer; null where there is none. */
export async function goto(page: Page, url: string): Promise<Response | null> {
  try {
    return await page.goto(url, { waitUntil: 'domcontentloaded', timeout: PAGE_MS })
  } catch (error) {
    // The page that says why comes a moment later, and would be in the way of the next one.
    if (error instanceof Error && error.message.includes('net::ERR_'))
      await page.waitForURL(/^chrome-error:/, { timeout: SETTLE_MS }).catch(() => undefined)
    throw error
  }
}

/** What follows from an action has begun, or is not going to. A page that never comes to rest is no error. */
export async function settled(page: Page): Promise<void> {
  await page.waitForLoadState('domcontentloaded', { timeout: SETTLE_MS }).catch(() => undefined)
  await page.waitForLoadState('networkidle', { timeout: 500 }).catch(() => undefined)
}

/** The browser's own words, without the log that its library adds. */
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
