/** Deciding in the queue of approvals in a real browser. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Page } from 'playwright-core'
import { axeViolations } from './axe.ts'
import { CHROMIUM, openSite, SCENARIO_MS, type Site } from './harness.ts'
import { say, startConversation, startTalk, type Talk } from './talk.ts'

const POLL = { timeout: 20_000 }

describe.skipIf(CHROMIUM === undefined)('the queue of approvals', { timeout: SCENARIO_MS }, () => {
  let site: Site
  let talk: Talk
  let made: string[] = []
  beforeAll(async () => {
    talk = await startTalk()
    site = await openSite()
  }, SCENARIO_MS)
  afterAll(async () => {
    await site[Symbol.asyncDispose]()
    await talk[Symbol.asyncDispose]()
  })
  afterEach(async () => {
    for (const id of made) await site.server.call('DELETE', `/api/conversations/${id}`)
    made = []
  })

  /** A conversation that waits for a decision about `echo NAME`. */
  const waiting = async (name: string, risk: 'HIGH' | 'LOW' = 'LOW') => {
    talk.answers = (text, { assistantTurns }) =>
      assistantTurns === 0
        ? {
            toolCalls: [
              {
                name: 'terminal',
                arguments: { command: `echo ${text}`, security_risk: risk, summary: `Print ${text}` },
              },
            ],
          }
        : { text: 'Understood.' }
    const id = await startConversation(site.server, talk, {
      confirmation_policy: { kind: 'AlwaysConfirm' },
      security_analyzer: { kind: 'LLMSecurityAnalyzer' },
    })
    made.push(id)
    await say(site.server, id, name, 'waiting_for_confirmation')
    return id
  }
  const decisions = async (id: string) => {
    const { body } = await site.server.call('GET', `/api/conversations/${id}/events/search`)
    return body.items
      .filter(({ key }: any) => key === 'approval')
      .map(({ value }: any) => [value.decision, value.reason ?? ''])
  }
  const status = async (id: string) => (await site.server.call('GET', `/api/conversations/${id}`)).body.execution_status
  const entry = (page: Page, name: string) => page.locator('.queue-batch').filter({ hasText: `Print ${name}` })
  const focused = (page: Page, name: string) =>
    page
      .locator('.queue-batch:focus')
      .filter({ hasText: `Print ${name}` })
      .waitFor()
  /** Presses until the guard of the card lets a press count. */
  const pressUntil = async (page: Page, name: string, id: string) => {
    await expect
      .poll(async () => {
        const button = page.getByRole('button', { name, exact: true })
        if ((await decisions(id)).length === 0 && (await button.isVisible())) await button.press('Enter')
        return (await decisions(id)).length
      }, POLL)
      .toBe(1)
  }

  test('a person decides one batch after another by keyboard and stays on the page', async () => {
    const first = await waiting('first')
    const second = await waiting('second', 'HIGH')
    const third = await waiting('third')
    await using tab = await site.open('/approvals')
    const { page } = tab
    const card = page.locator('section.approval')
    await entry(page, 'first').locator('section.approval').waitFor()
    expect(await card.count()).toBe(1)
    await tab.shot('queue-open')

    await page.keyboard.press('a')
    await pressUntil(page, 'Approve', first)
    await entry(page, 'first').getByText('Approved', { exact: true }).waitFor()
    await entry(page, 'second').locator('section.approval').waitFor()
    await focused(page, 'second')
    await page.getByRole('status').getByText('Approved. 2 more wait.').waitFor({ state: 'attached' })

    await expect
      .poll(async () => {
        await page.keyboard.press('a')
        return page.getByRole('button', { name: 'Yes, run it at high risk' }).isVisible()
      }, POLL)
      .toBe(true)
    // Within the first moments the second step ignores the key.
    await page.keyboard.press('Enter')
    expect(await decisions(second)).toEqual([])
    await pressUntil(page, 'Yes, run it at high risk', second)

    await entry(page, 'third').locator('section.approval').waitFor()
    await focused(page, 'third')
    await page.keyboard.press('x')
    await page.getByRole('textbox', { name: 'Reason for the agent' }).fill('Not on this machine')
    await pressUntil(page, 'Refuse', third)
    await entry(page, 'third').getByText('Refused', { exact: true }).waitFor()
    await entry(page, 'third').getByText('Reason: Not on this machine').waitFor()
    await page.getByRole('main').getByText('Nothing else waits for you').waitFor()
    await focused(page, 'third')
    expect(new URL(page.url()).pathname).toBe('/approvals')
    expect([await decisions(first), await decisions(second), await decisions(third)]).toEqual([
      [['accept', '']],
      [['accept', '']],
      [['reject', 'Not on this machine']],
    ])
    await expect.poll(() => Promise.all([first, second, third].map(status)), POLL).toEqual(Array(3).fill('finished'))
    await tab.shot('queue-decided')
  })

  test('the second click of a double click does not decide about the next batch', async () => {
    const first = await waiting('first')
    const second = await waiting('second')
    await using tab = await site.open('/approvals')
    const { page } = tab
    await page.evaluate(`{
      let last = ''
      new MutationObserver(() => {
        const text = document.querySelector('section.approval')?.textContent ?? ''
        if (text.includes('Print second') && last !== 'second') {
          last = 'second'
          document.querySelector('section.approval .button-primary').click()
          document.documentElement.dataset.clicked = 'yes'
        }
      }).observe(document.body, { childList: true, subtree: true })
    }`)
    await entry(page, 'first').locator('section.approval').waitFor()
    await pressUntil(page, 'Approve', first)
    await page.locator('html[data-clicked=yes]').waitFor()
    await entry(page, 'second').locator('section.approval').waitFor()
    expect([await decisions(second), await status(second)]).toEqual([[], 'waiting_for_confirmation'])
  })

  test('a batch that was answered elsewhere while its card is open says so, and another one can be chosen', async () => {
    const first = await waiting('first')
    await waiting('second')
    await waiting('third')
    await using tab = await site.open('/approvals')
    const { page } = tab
    await entry(page, 'first').locator('section.approval').waitFor()
    const { body } = await site.server.call('GET', '/api/approvals')
    const batch = body.approvals.find((each: any) => each.conversation_id === first)
    await site.server.call('POST', `/api/conversations/${first}/events/respond_to_confirmation`, {
      accept: true,
      batch_id: batch.batch_id,
    })
    await entry(page, 'first').getByText('Answered elsewhere').waitFor()
    await entry(page, 'second').locator('section.approval').waitFor()
    await page.getByRole('button', { name: 'Decide about Print third' }).click()
    await entry(page, 'third').locator('section.approval').waitFor()
    await focused(page, 'third')
    expect(await page.locator('section.approval').count()).toBe(1)
  })

  test('the checker finds nothing wrong with an open card in any colours, nor on a phone', async () => {
    await waiting('first', 'HIGH')
    await waiting('second')
    for (const colors of ['light', 'dark', 'forced'] as const) {
      await using tab = await site.open('/approvals', { colors })
      await tab.page.locator('section.approval').waitFor()
      expect([colors, await axeViolations(tab.page)]).toEqual([colors, []])
      await tab.shot(`queue-${colors}`)
    }
    await using phone = await site.open('/approvals', { width: 390, height: 844, isTouch: true })
    await phone.page.locator('section.approval').waitFor()
    await phone.shot('queue-phone')
    expect(await axeViolations(phone.page)).toEqual([])
  })
})
