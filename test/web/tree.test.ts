/** The branches of a conversation in a real browser: going back, forks, and messages that are sent again. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { until } from '../../packages/server/testing/until.ts'
import { axeViolations } from './axe.ts'
import { CHROMIUM, openSite, SCENARIO_MS, type Site } from './harness.ts'
import { say, startConversation, startTalk, type Talk, write } from './talk.ts'

describe.skipIf(CHROMIUM === undefined)('branches', { timeout: SCENARIO_MS }, () => {
  let site: Site
  let talk: Talk
  beforeAll(async () => {
    ;[site, talk] = await Promise.all([openSite(), startTalk()])
  }, SCENARIO_MS)
  afterAll(async () => {
    await site[Symbol.asyncDispose]()
    await talk[Symbol.asyncDispose]()
  })

  const start = async (members = {}) => {
    talk.answers = (text) => ({ text: `Answer to ${text.trim()}` })
    return await startConversation(site.server, talk, members)
  }
  const row = (page: Page, text: string) =>
    page.locator('.timeline .row', { has: page.getByText(text, { exact: true }) })
  const act = async (page: Page, text: string, name: string) => {
    await row(page, text).hover()
    await row(page, text).getByRole('button', { name }).click()
  }
  const segment = (page: Page, title: string) =>
    page.getByRole('list', { name: 'Branches of the conversation' }).getByRole('listitem').filter({ hasText: title })
  const goBack = async (page: Page, files = 'Leave the files') => {
    await page.getByRole('radio', { name: files }).check()
    await page.getByRole('dialog').getByRole('button', { name: 'Go back here' }).click()
  }
  const leafOf = async (id: string): Promise<string> =>
    (await site.server.call('GET', `/api/conversations/${id}`)).body.leaf_event_id

  test('after going back and continuing, the tree has both branches, and leads to the earlier one', async () => {
    const id = await start()
    await say(site.server, id, 'First task', 'finished')
    await say(site.server, id, 'Second task', 'finished')
    await using tab = await site.open(`/c/${id}?panel=tree`)
    const { page } = tab
    await page.getByText('The conversation has one branch.').waitFor()
    await act(page, 'Answer to First task', 'Go back here')
    await goBack(page)
    await row(page, 'Second task').waitFor({ state: 'detached' })
    await write(page, 'Other task')
    await row(page, 'Answer to Other task').waitFor()
    await segment(page, 'Other task').getByText('You are here').waitFor()
    expect(await page.locator('.tree-title').allTextContents()).toEqual(['First task', 'Second task', 'Other task'])
    await tab.shot('tree')
    await segment(page, 'Second task').getByRole('button', { name: 'Continue on this branch' }).click()
    await goBack(page)
    await row(page, 'Answer to Second task').waitFor()
    expect(await row(page, 'Other task').count()).toBe(0)
    await segment(page, 'Second task').getByText('You are here').waitFor()
  })

  test('who goes back after the conversation has continued elsewhere learns that, and nothing moves', async () => {
    const id = await start()
    await say(site.server, id, 'First task', 'finished')
    await using tab = await site.open(`/c/${id}`)
    const { page } = tab
    tab.allow(/409/)
    await act(page, 'First task', 'Go back here')
    await page.getByRole('dialog').waitFor()
    await say(site.server, id, 'Task of another tab', 'finished')
    const leaf = await leafOf(id)
    await goBack(page)
    await page.getByRole('alert').getByText('The conversation has continued or moved').waitFor()
    expect(await leafOf(id)).toBe(leaf)
  })

  test('files return to those of a place that has a checkpoint, and a place without one says so', async () => {
    const id = await start({ file_checkpoints: true })
    const commands = ['echo one > note.txt', 'echo two > note.txt']
    talk.answers = (text, { assistantTurns }) =>
      /^Task \d$/.test(text.trim()) && assistantTurns % 2 === 0
        ? { toolCalls: [{ name: 'terminal', arguments: { command: commands[assistantTurns / 2]! } }] }
        : { text: `Answer to ${text.trim()}` }
    await say(site.server, id, 'Task 1', 'finished')
    await say(site.server, id, 'Task 2', 'finished')
    const note = () => readFile(join(talk.directory, 'note.txt'), 'utf8')
    expect(await note()).toBe('two\n')
    await using tab = await site.open(`/c/${id}`)
    const { page } = tab
    tab.allow(/409/)
    await act(page, 'Answer to Task 1', 'Go back here')
    await goBack(page, 'Restore the files')
    await row(page, 'Answer to Task 2').waitFor({ state: 'detached' })
    expect(await note()).toBe('one\n')
    const other = await start()
    await say(site.server, other, 'First task', 'finished')
    await page.goto(`/c/${other}`)
    await act(page, 'First task', 'Go back here')
    await goBack(page, 'Restore the files')
    await page.getByRole('alert').getByText('There is no checkpoint of the files at this place.').waitFor()
    expect(await page.getByRole('radio', { name: 'Leave the files' }).isChecked()).toBe(true)
  })

  test('a fork has the events up to its place and the title of the dialog', async () => {
    const id = await start()
    await say(site.server, id, 'First task', 'finished')
    await say(site.server, id, 'Second task', 'finished')
    await using tab = await site.open(`/c/${id}`)
    const { page } = tab
    await act(page, 'Answer to First task', 'Fork here')
    await page.getByRole('textbox', { name: 'Title' }).fill('Another way')
    await page.getByRole('button', { name: 'Fork from here' }).click()
    await page.getByText('The fork is ready.').waitFor()
    await page.getByRole('button', { name: 'Open the fork' }).click()
    await page.getByRole('heading', { name: 'Another way' }).waitFor()
    await row(page, 'Answer to First task').waitFor()
    expect(await row(page, 'Second task').count()).toBe(0)
    expect(page.url()).not.toContain(id)
  })

  test('a message that is edited and sent again begins another branch', async () => {
    const id = await start()
    await say(site.server, id, 'First task', 'finished')
    await using tab = await site.open(`/c/${id}?panel=tree`)
    const { page } = tab
    await act(page, 'First task', 'Edit and send again')
    const field = page.getByRole('dialog').getByRole('textbox', { name: 'Message' })
    expect(await field.inputValue()).toBe('First task')
    await field.fill('Better task')
    await page.getByRole('dialog').getByRole('button', { name: 'Send' }).click()
    await row(page, 'Answer to Better task').waitFor()
    expect(await row(page, 'First task').count()).toBe(0)
    await segment(page, 'First task').waitFor()
    await segment(page, 'Better task').getByText('You are here').waitFor()
  })

  test('on a phone the sheet of the tree closes when a place is shown', async () => {
    const id = await start()
    await say(site.server, id, 'First task', 'finished')
    await using tab = await site.open(`/c/${id}?panel=tree`, { width: 390, height: 844, isTouch: true })
    const { page } = tab
    await segment(page, 'First task').getByRole('button', { name: 'Show' }).click()
    await page.locator('.panel-sheet').waitFor({ state: 'detached' })
    await row(page, 'First task').waitFor()
    // The facts and the buttons of the header are in one line.
    const boxOf = async (part: string) => (await page.locator(`.conversation-head ${part}`).boundingBox())!
    const [facts, button] = [await boxOf('dl'), await boxOf('.panel-button')]
    expect(button.y).toBeLessThan(facts.y + facts.height)
    await tab.shot('tree-phone')
  })

  for (const colors of ['light', 'dark', 'forced'] as const)
    test(`the checker finds nothing wrong with the tree and its dialogs in ${colors} colours`, async () => {
      const id = await start()
      await say(site.server, id, 'First task', 'finished')
      const first = await leafOf(id)
      await say(site.server, id, 'Second task', 'finished')
      await site.server.call('POST', `/api/conversations/${id}/navigate`, { event_id: first })
      await say(site.server, id, 'Other task', 'finished')
      await using tab = await site.open(`/c/${id}?panel=tree`, { colors })
      const { page } = tab
      await segment(page, 'Second task').waitFor()
      await until(async () => (await page.locator('.tree-title').allTextContents()).includes('Other task'))
      expect(await axeViolations(page)).toEqual([])
      for (const [button, name] of [
        ['Continue on this branch', 'go-back'],
        ['Fork from here', 'fork'],
      ] as const) {
        await segment(page, 'Second task').getByRole('button', { name: button }).click()
        await page.getByRole('dialog').waitFor()
        await tab.shot(`${name}-${colors}`)
        expect(await axeViolations(page)).toEqual([])
        await page.keyboard.press('Escape')
        await page.getByRole('dialog').waitFor({ state: 'detached' })
      }
    })
})
