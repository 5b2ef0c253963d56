/** Approvals in a real browser. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Page } from 'playwright-core'
import { until } from '../../packages/server/testing/until.ts'
import { axeViolations } from './axe.ts'
import { CHROMIUM, openSite, SCENARIO_MS, type Site } from './harness.ts'
import { say, startConversation, startTalk, type Talk } from './talk.ts'

const POLL = { timeout: 20_000 }
const COMMAND = 'echo safe\u202e && echo еvil'

/** Clicks the button in the moment when it is in the document. */
const CLICK_AT_ONCE = `{
  const observer = new MutationObserver(() => {
    const button = document.querySelector('.approval .button-primary')
    if (button === null) return
    observer.disconnect()
    button.click()
    document.documentElement.dataset.clicked = 'yes'
  })
  observer.observe(document.body, { childList: true, subtree: true })
}`

describe.skipIf(CHROMIUM === undefined)('an approval', { timeout: SCENARIO_MS }, () => {
  let site: Site
  let talk: Talk
  beforeAll(async () => {
    talk = await startTalk()
    site = await openSite()
  }, SCENARIO_MS)
  afterAll(async () => {
    await site[Symbol.asyncDispose]()
    await talk[Symbol.asyncDispose]()
  })

  /** A conversation that waits for a decision about a command. */
  const waiting = async (risk: 'HIGH' | 'LOW') => {
    talk.answers = (_, { assistantTurns }) =>
      assistantTurns === 0
        ? { toolCalls: [{ name: 'terminal', arguments: { command: COMMAND, security_risk: risk, summary: 'Say it' } }] }
        : { text: 'Understood.' }
    const id = await startConversation(site.server, talk, {
      confirmation_policy: { kind: 'AlwaysConfirm' },
      security_analyzer: { kind: 'LLMSecurityAnalyzer' },
    })
    await say(site.server, id, 'Do it', 'waiting_for_confirmation')
    return id
  }
  const status = async (id: string) => (await site.server.call('GET', `/api/conversations/${id}`)).body.execution_status
  const decisions = async (id: string) => {
    const { body } = await site.server.call('GET', `/api/conversations/${id}/events/search`)
    return body.items.filter(({ key }: any) => key === 'approval').map(({ value }: any) => value)
  }
  const card = (page: Page) => page.locator('section.approval')

  test('hidden characters of the command are visible, and approving a high risk takes two steps by keyboard', async () => {
    const id = await waiting('HIGH')
    await using tab = await site.open(`/c/${id}`)
    const { page } = tab
    await card(page).waitFor()
    await expect.poll(() => card(page).locator('.special').count(), POLL).toBe(2)
    expect(await card(page).getByText('High risk').first().isVisible()).toBe(true)
    await tab.shot('approval-high')
    await page.keyboard.press('a')
    const second = page.getByRole('button', { name: 'Yes, run it at high risk' })
    await second.waitFor()
    // Within the first moments the button ignores the key.
    await page.keyboard.press('Enter')
    expect(await decisions(id)).toEqual([])
    await expect
      .poll(async () => {
        if (await second.isVisible()) await page.keyboard.press('Enter')
        return (await decisions(id)).map(({ decision }: any) => decision)
      }, POLL)
      .toEqual(['accept'])
    await page.getByText('Understood.').waitFor()
    await card(page).waitFor({ state: 'detached' })
  })

  test('a click in the moment when the card appears decides nothing', async () => {
    const id = await waiting('LOW')
    await using tab = await site.open('/')
    const { page } = tab
    await page.evaluate(CLICK_AT_ONCE)
    await page.evaluate(`history.pushState(null, '', '/c/${id}'); dispatchEvent(new PopStateEvent('popstate'))`)
    await until(() => page.evaluate<boolean>(`document.documentElement.dataset.clicked === 'yes'`))
    await card(page).waitFor()
    expect([await decisions(id), await status(id)]).toEqual([[], 'waiting_for_confirmation'])
  })

  test('a refusal carries its reason to the agent', async () => {
    const id = await waiting('LOW')
    await using tab = await site.open(`/c/${id}`)
    const { page } = tab
    await card(page).waitFor()
    await page.keyboard.press('x')
    await page.getByRole('textbox', { name: 'Reason for the agent' }).fill('Not on this machine')
    await expect
      .poll(async () => {
        const refuse = page.getByRole('button', { name: 'Refuse', exact: true })
        if (await refuse.isVisible()) await refuse.click()
        return (await decisions(id)).map(({ decision, reason }: any) => [decision, reason])
      }, POLL)
      .toEqual([['reject', 'Not on this machine']])
    await page.getByText('Understood.').waitFor()
    await page.getByText('Refused: Not on this machine').first().waitFor()
  })

  test('an answer in another tab is shown as such', async () => {
    const id = await waiting('LOW')
    await using first = await site.open(`/c/${id}`)
    await using second = await site.open(`/c/${id}`)
    await Promise.all([card(first.page).waitFor(), card(second.page).waitFor()])
    await expect
      .poll(async () => {
        const approve = first.page.getByRole('button', { name: 'Approve', exact: true })
        if (await approve.isVisible()) await approve.click()
        return (await decisions(id)).length
      }, POLL)
      .toBe(1)
    await second.page.locator('.answered').getByText('Approved elsewhere by you in another tab or client').waitFor()
    await card(second.page).waitFor({ state: 'detached' })
    await second.shot('approval-elsewhere')
    expect(await first.page.locator('.answered').count()).toBe(0)
  })

  test('the checker finds nothing wrong with an approval in any colours, nor on a phone', async () => {
    const id = await waiting('HIGH')
    for (const colors of ['light', 'dark', 'forced'] as const) {
      await using tab = await site.open(`/c/${id}`, { colors })
      await card(tab.page).waitFor()
      expect(await axeViolations(tab.page)).toEqual([])
    }
    await using phone = await site.open(`/c/${id}`, { width: 390, height: 844, isTouch: true })
    await card(phone.page).waitFor()
    await phone.shot('approval-phone')
    expect(await axeViolations(phone.page)).toEqual([])
  })
})
