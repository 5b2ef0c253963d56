/** A log of 50,000 events, and the scroll rules, in a real browser. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { until } from '../../packages/server/testing/until.ts'
import { CHROMIUM, openSite, SCENARIO_MS, type Site } from './harness.ts'
import { type LongLog, openLongLog } from './long-log.ts'
import { AT_END, firstRow } from './places.ts'
import { startTalk, type Talk } from './talk.ts'

const EVENTS = 50_000
/** Most elements of any screen. */
const MOST_ELEMENTS = 2_500

/**
 * Resolves to how far the row in the middle moves on the screen, in pixels, while it is watched for some frames: after a step its
 * neighbours are loaded and measured.
 */
const DRIFT = `new Promise((resolve) => {
  const list = document.querySelector('.timeline-scroll')
  const { top, height } = list.getBoundingClientRect()
  const row = [...list.querySelectorAll('.row')].find((one) => one.getBoundingClientRect().bottom > top + height / 2)
  const tops = []
  const look = () => {
    tops.push(row.getBoundingClientRect().top)
    if (tops.length < 15) requestAnimationFrame(look)
    else resolve(Math.max(...tops) - Math.min(...tops))
  }
  requestAnimationFrame(() => requestAnimationFrame(look))
})`
/** Scrolls up by almost a screen. */
const PAGE_UP = `document.querySelector('.timeline-scroll').scrollTop -= 600`
describe.skipIf(CHROMIUM === undefined)('a log of 50,000 events', { timeout: SCENARIO_MS }, () => {
  let site: Site
  let talk: Talk
  let log: LongLog
  beforeAll(async () => {
    talk = await startTalk()
    site = await openSite()
    log = await openLongLog(site, talk, EVENTS)
  }, SCENARIO_MS)
  afterAll(async () => {
    await log[Symbol.asyncDispose]()
    await site[Symbol.asyncDispose]()
    await talk[Symbol.asyncDispose]()
  })

  const rowTexts = (page: Page) => page.locator('.row').last().textContent()

  test('opens at its end with few elements, and a seq in the address opens there', async () => {
    const page = await log.open(`/c/${log.id}`)
    await page.locator('.row').last().waitFor()
    await until(() => page.evaluate<boolean>(AT_END))
    await until(async () => ((await rowTexts(page)) ?? '').length > 3)
    expect(await page.evaluate<number>(`document.querySelectorAll('*').length`)).toBeLessThan(MOST_ELEMENTS)
    expect(Number(await page.locator('.row').last().getAttribute('aria-setsize'))).toBeGreaterThan(25_000)
    await page.goto(`${log.server.url}/c/${log.id}?at=123`)
    await page.locator('.row').first().waitFor()
    await until(async () => Math.abs((await firstRow(page))[0] - 123) < 4)
    await page.getByText('node step-').first().waitFor()
    await page.context().close()
  })

  test('nothing on the screen moves while rows above it are loaded and measured', async () => {
    const page = await log.open(`/c/${log.id}`)
    await page.locator('.row').last().waitFor()
    await until(() => page.evaluate<boolean>(AT_END))
    const drifts: number[] = []
    for (let step = 0; step < 12; step++) {
      await page.evaluate(PAGE_UP)
      drifts.push(await page.evaluate<number>(DRIFT))
    }
    expect(drifts.filter((drift) => drift > 1)).toEqual([])
    await page.context().close()
  })

  test('who reads in the middle is not moved by a new row, and finds the place again after another page', async () => {
    const page = await log.open(`/c/${log.id}`)
    await page.locator('.row').last().waitFor()
    await until(() => page.evaluate<boolean>(AT_END))
    await page.evaluate(`document.querySelector('.timeline-scroll').scrollTop = 600_000`)
    await until(async () => (await page.evaluate<number>(DRIFT)) === 0)
    const before = await firstRow(page)
    const content = [{ type: 'text', text: 'A new message' }]
    await log.server.call('POST', `/api/conversations/${log.id}/events`, { content, run: false })
    await page.getByRole('button', { name: /new · End/ }).waitFor()
    expect(await firstRow(page)).toEqual(before)
    await page.getByRole('link', { name: 'Home' }).first().click()
    await page.locator('.timeline').waitFor({ state: 'detached' })
    await page.goBack()
    await page.locator('.row').first().waitFor()
    await until(async () => JSON.stringify(await firstRow(page)) === JSON.stringify(before))
    await page.getByRole('button', { name: /End/ }).click()
    await page.getByText('A new message').waitFor()
    await page.context().close()
  })
})
