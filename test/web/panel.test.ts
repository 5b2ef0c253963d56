/** The panel beside a conversation: its tabs, its width, its place in the address and its form on a narrow screen. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { until } from '../../packages/server/testing/until.ts'
import { axeViolations } from './axe.ts'
import { CHROMIUM, openSite, SCENARIO_MS, type Site } from './harness.ts'
import { say, startConversation, startTalk, type Talk } from './talk.ts'

describe.skipIf(CHROMIUM === undefined)('the panel of a conversation', { timeout: SCENARIO_MS }, () => {
  let site: Site
  let talk: Talk
  let path: string
  beforeAll(async () => {
    ;[site, talk] = await Promise.all([openSite(), startTalk()])
    const id = await startConversation(site.server, talk)
    await say(site.server, id, 'Say hello', 'finished')
    path = `/c/${id}`
  }, SCENARIO_MS)
  afterAll(async () => {
    await site[Symbol.asyncDispose]()
    await talk[Symbol.asyncDispose]()
  })

  test('the panel opens and closes by a button and by a key, and the address has its tab', async () => {
    await using tab = await site.open(path)
    const { page } = tab
    const panel = page.getByRole('region', { name: 'Panel' })
    await page.getByRole('button', { name: 'Show the panel' }).click()
    await panel.getByRole('tab', { name: 'Changes', selected: true }).waitFor()
    expect(new URL(page.url()).searchParams.get('panel')).toBe('changes')
    await page.reload()
    await panel.getByRole('tabpanel', { name: 'Changes' }).waitFor()
    await panel.getByRole('button', { name: 'Close the panel' }).click()
    await expect.poll(() => new URL(page.url()).search).toBe('')
    await page.keyboard.press('1')
    await panel.waitFor()
    await page.keyboard.press('1')
    await panel.waitFor({ state: 'detached' })
  })

  test('the width of the panel is changed by keys and by a pointer, and is kept', async () => {
    await using tab = await site.open(`${path}?panel=changes`)
    const { page } = tab
    const panel = page.getByRole('region', { name: 'Panel' })
    const widthOf = async () => Math.round((await panel.boundingBox())!.width)
    const splitter = page.getByRole('separator', { name: 'Width of the panel' })
    await splitter.focus()
    const first = await widthOf()
    await page.keyboard.press('ArrowLeft')
    await until(async () => (await widthOf()) === first + 24)
    await page.keyboard.press('Home')
    await until(async () => (await widthOf()) === 320)
    const { x, y } = (await splitter.boundingBox())!
    await page.mouse.move(x, y + 200)
    await page.mouse.down()
    await page.mouse.move(x - 100, y + 200)
    await page.mouse.up()
    await until(async () => (await widthOf()) === 420)
    await page.reload()
    await panel.waitFor()
    await until(async () => (await widthOf()) === 420)
    await page.keyboard.press('Home')
  })

  test('End in a field moves the caret of the field', async () => {
    await using tab = await site.open(path)
    const { page } = tab
    const field = page.getByRole('textbox', { name: 'Message' })
    await field.fill('abc')
    await page.getByRole('article').first().waitFor()
    await field.press('Home')
    await field.press('End')
    await field.press('d')
    expect(await field.inputValue()).toBe('abcd')
  })

  test('on a phone the panel is a sheet, which Escape closes', async () => {
    await using tab = await site.open(path, { width: 390, height: 844, isTouch: true })
    const { page } = tab
    await page.getByRole('button', { name: 'Show the panel' }).click()
    const sheet = page.getByRole('dialog', { name: 'Panel' })
    await sheet.getByRole('tabpanel', { name: 'Changes' }).waitFor()
    expect(await sheet.boundingBox()).toEqual({ x: 0, y: 0, width: 390, height: 844 })
    await tab.shot('panel-phone')
    expect(await page.evaluate('document.activeElement.id')).toBe('panel-tab-changes')
    await page.keyboard.press('Escape')
    await sheet.waitFor({ state: 'detached' })
    await page.goBack()
    await expect.poll(() => new URL(page.url()).search).toBe('')
  })

  test.each(['light', 'dark', 'forced'] as const)(
    'the accessibility checker finds nothing in %s colours',
    async (colors) => {
      await using tab = await site.open(`${path}?panel=changes`, { colors })
      await tab.page.getByText('Not a git repository').waitFor()
      await tab.page.getByRole('article').first().waitFor()
      await tab.shot(`panel-${colors}`)
      expect(await axeViolations(tab.page, colors === 'light' ? 'all' : 'colors')).toEqual([])
    },
  )
})
