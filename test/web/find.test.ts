/** Find in a conversation, in a real browser. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { until } from '../../packages/server/testing/until.ts'
import { axeViolations } from './axe.ts'
import { CHROMIUM, openSite, SCENARIO_MS, type Site } from './harness.ts'
import { type LongLog, openLongLog } from './long-log.ts'
import { AT_END, firstRow } from './places.ts'
import { say, startConversation, startTalk, type Talk } from './talk.ts'

describe.skipIf(CHROMIUM === undefined)('find', { timeout: SCENARIO_MS }, () => {
  let site: Site
  let talk: Talk
  let log: LongLog
  beforeAll(async () => {
    talk = await startTalk()
    site = await openSite()
    log = await openLongLog(site, talk, 50_000)
  }, SCENARIO_MS)
  afterAll(async () => {
    await log[Symbol.asyncDispose]()
    await site[Symbol.asyncDispose]()
    await talk[Symbol.asyncDispose]()
  })
  const field = (page: Page) => page.getByRole('textbox', { name: 'Text to find' })

  test('finds a text in 50,000 events, opens the row of the hit, and a step back returns to the same place', async () => {
    const page = await log.open(`/c/${log.id}`)
    await page.locator('.row').last().waitFor()
    await until(() => page.evaluate<boolean>(AT_END))
    await page.evaluate(`document.querySelector('.timeline-scroll').scrollTop = 600_000`)
    await page.locator('.row').getByText('node step-').first().waitFor()
    let before = await firstRow(page)
    await until(async () => {
      const known = before
      before = await firstRow(page)
      return JSON.stringify(known) === JSON.stringify(before)
    })
    await page.keyboard.press('Control+f')
    await field(page).fill('NODE step-12-7.js')
    await page.getByText(/^1 of \d$/).waitFor()
    await page.locator('.find-excerpt mark').getByText('node step-12-7.js').waitFor()
    const row = page.locator('.row', { has: page.getByText('node step-12-7.js') })
    await row.first().waitFor()
    await until(() => page.evaluate<boolean>(`CSS.highlights.get('find').size > 0`))
    const list = (await page.locator('.timeline-scroll').boundingBox())!
    const at = (await row.first().boundingBox())!
    expect(at.y > list.y && at.y < list.y + list.height).toBe(true)
    await page.goBack()
    await field(page).waitFor({ state: 'detached' })
    await until(async () => JSON.stringify(await firstRow(page)) === JSON.stringify(before))
    await page.context().close()
  })

  for (const colors of ['light', 'dark', 'forced'] as const)
    test(`hits are counted, moved between by keys and narrowed by kind in ${colors} colours`, async () => {
      talk.answers = (_, { assistantTurns }) =>
        assistantTurns === 0
          ? { toolCalls: [{ name: 'terminal', arguments: { command: 'echo needle' } }] }
          : { text: 'The needle was found.' }
      const id = await startConversation(site.server, talk)
      await say(site.server, id, 'Look for the needle', 'finished')
      await using tab = await site.open(`/c/${id}`, { colors })
      const { page } = tab
      await page.getByRole('button', { name: 'Find in the conversation' }).click()
      await field(page).fill('needle')
      await page.getByText('4 of 4').waitFor()
      await page.locator('.find-excerpt').getByText('The needle was found.').waitFor()
      await field(page).press('Enter')
      await page.getByText('1 of 4').waitFor()
      await field(page).press('Shift+Enter')
      await page.getByText('4 of 4').waitFor()
      await field(page).press('Shift+Enter')
      await page.getByText('3 of 4').waitFor()
      await page.locator('.tool-body').waitFor()
      await tab.shot(`find-${colors}`)
      expect(await axeViolations(page)).toEqual([])
      await page.getByRole('combobox', { name: 'Where to look' }).selectOption('Messages')
      await page.getByText('2 of 2').waitFor()
      await field(page).fill('haystack')
      await page.getByText('No hits').waitFor()
      await field(page).press('Escape')
      await field(page).waitFor({ state: 'detached' })
    })
})
