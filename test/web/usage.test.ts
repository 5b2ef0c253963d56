/** The usage of a conversation in a real browser. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { axeViolations } from './axe.ts'
import { CHROMIUM, openSite, SCENARIO_MS, type Site, type Tab } from './harness.ts'
import { say, startConversation, startTalk, type Talk } from './talk.ts'

const POLL = { timeout: 20_000 }

describe.skipIf(CHROMIUM === undefined)('the usage of a conversation', { timeout: SCENARIO_MS }, () => {
  let site: Site
  let talk: Talk
  beforeAll(async () => {
    ;[site, talk] = await Promise.all([openSite(), startTalk()])
    talk.answers = () => ({
      text: 'Hello.',
      usage: { input: 12_000, output: 345, cacheRead: 9_000, reasoning: 45 },
    })
  }, SCENARIO_MS)
  afterAll(async () => {
    await site[Symbol.asyncDispose]()
    await talk[Symbol.asyncDispose]()
  })

  const llm = { input_cost_per_token: 0.00001, output_cost_per_token: 0.00002 }
  const started = (more: object = llm) =>
    startConversation(site.server, talk, {
      autotitle: false,
      agent: {
        kind: 'Agent',
        llm: {
          model: 'openai/scripted',
          base_url: `${talk.model.url}/v1`,
          api_key: 'scripted',
          usage_id: 'agent',
          stream: true,
          ...more,
        },
        tools: [],
      },
    })
  const figures = ({ page }: Tab) => page.locator('.usage-summary > div').allInnerTexts()
  const totals = async (id: string) => {
    const { body } = await site.server.call('GET', `/api/conversations/${id}`)
    return body.stats.usage_to_metrics.agent
  }

  test('the figures are those of the stats, and grow with the run', async () => {
    const id = await started()
    await say(site.server, id, 'Say hello', 'finished')
    await using tab = await site.open(`/c/${id}?panel=usage`)
    const rows = tab.page.getByRole('region', { name: 'Calls, newest first' }).locator('tbody tr')
    for (const calls of [1, 2]) {
      await expect.poll(() => rows.count(), POLL).toBe(calls)
      const { accumulated_cost, accumulated_token_usage: tokens } = await totals(id)
      expect(tokens.prompt_tokens).toBe(calls * 12_000)
      const [cost, read, written, called] = await figures(tab)
      expect(cost).toContain(`$${accumulated_cost.toFixed(2)}`)
      expect(read).toContain(new Intl.NumberFormat('en').format(tokens.prompt_tokens))
      expect(read).toContain('75% from the cache')
      expect(written).toContain(String(tokens.completion_tokens))
      expect(called).toMatch(new RegExp(`\\b${calls}$`))
      if (calls === 1) await say(site.server, id, 'Say it again', 'finished')
    }
    await tab.shot('usage')
  })

  test('a model without a known price has tokens and says so', async () => {
    const id = await started({})
    await say(site.server, id, 'Say hello', 'finished')
    await using tab = await site.open(`/c/${id}?panel=usage`)
    await tab.page.getByText('The price of 1 call is not known.').waitFor()
    expect((await figures(tab))[0]).toContain('unknown')
  })

  test('a conversation without a call says that none was made', async () => {
    const id = await started()
    await using tab = await site.open(`/c/${id}?panel=usage`)
    await tab.page.getByText('No model has been called yet').waitFor()
  })

  test('a failure of the server is shown with a way to try again', async () => {
    const id = await started()
    await using tab = await site.open('/')
    tab.allow(/status of 500/)
    const { page } = tab
    let isBroken = true
    await page.route('**/usage?*', (route) =>
      isBroken ? route.fulfill({ status: 500, json: { detail: 'Not today' } }) : route.continue(),
    )
    await page.goto(`/c/${id}?panel=usage`)
    await page.getByText('Not today').waitFor()
    isBroken = false
    await page.getByRole('tabpanel').getByRole('button', { name: 'Try again' }).click()
    await page.getByText('No model has been called yet').waitFor()
  })

  test('the checker finds nothing wrong with the usage in any colours, nor on a phone', async () => {
    const id = await started()
    await say(site.server, id, 'Say hello', 'finished')
    for (const colors of ['light', 'dark', 'forced'] as const) {
      await using tab = await site.open(`/c/${id}?panel=usage`, { colors })
      await tab.page.getByRole('region', { name: 'Calls, newest first' }).waitFor()
      if (colors === 'dark') await tab.shot('usage-dark')
      expect([colors, await axeViolations(tab.page)]).toEqual([colors, []])
    }
    await using phone = await site.open(`/c/${id}?panel=usage`, { width: 390, height: 844, isTouch: true })
    await phone.page.getByRole('region', { name: 'Calls, newest first' }).waitFor()
    await phone.shot('usage-phone')
    expect(await axeViolations(phone.page)).toEqual([])
  })
})
