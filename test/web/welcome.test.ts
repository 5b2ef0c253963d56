/** The first minute in a real browser: nothing is set up, and the demo runs to its end. */
import { mkdir } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { axeViolations } from './axe.ts'
import { CHROMIUM, openSite, SCENARIO_MS, type Site } from './harness.ts'

const POLL = { timeout: 20_000 }
/** Shows 1: from the first click to the end. */
const MINUTE_MS = 60_000

/** Calls that are not below what the agent said before them. */
const besideText = (page: Page) =>
  page
    .locator('.said + .tool')
    .evaluateAll((tools) =>
      tools
        .filter(
          (tool) => tool.getBoundingClientRect().top < tool.previousElementSibling!.getBoundingClientRect().bottom,
        )
        .map((tool) => tool.textContent),
    )

describe.skipIf(CHROMIUM === undefined)('the first minute', { timeout: SCENARIO_MS * 2 }, () => {
  let site: Site
  beforeEach(async () => {
    site = await openSite()
  }, SCENARIO_MS)
  afterEach(() => site[Symbol.asyncDispose]())

  const statusOf = async (page: Page) => {
    const id = new URL(page.url()).pathname.slice('/c/'.length)
    return (await site.server.call('GET', `/api/conversations/${id}`)).body.execution_status
  }
  const watch = (page: Page) => page.getByRole('button', { name: 'Watch the demo' })
  const approve = (page: Page) => page.getByRole('button', { name: 'Approve', exact: true })
  /** The end of the demo: the agent reports, and quotes the output of the last test. */
  const seesTheEnd = async (page: Page) => {
    await expect.poll(() => statusOf(page), POLL).toBe('finished')
    await page.getByText('It rounds up now, and the test passes').last().waitFor()
    await page.getByText('fail 0').last().waitFor()
  }

  test('the demo runs from one click to the passing test, with one approval', async () => {
    await using tab = await site.open('/')
    const { page } = tab
    await watch(page).waitFor()
    await tab.shot('welcome')
    const from = performance.now()
    await watch(page).click()
    await page.waitForURL('**/c/*')
    await approve(page).waitFor(POLL)
    await page.locator('.approval').getByText('return Math.ceil(items / perPage)').waitFor()
    await tab.shot('demo-approval')
    await expect
      .poll(async () => {
        if (await approve(page).isVisible()) await approve(page).click()
        return statusOf(page)
      }, POLL)
      .not.toBe('waiting_for_confirmation')
    await seesTheEnd(page)
    expect(performance.now() - from).toBeLessThan(MINUTE_MS)
    await tab.shot('demo-end')
    expect(await besideText(page)).toEqual([])
    await page.goto('/')
    await page.getByRole('heading', { name: 'Recent' }).waitFor()
    await page.locator('.rail-account').click()
    await page.getByRole('menuitem', { name: 'First steps' }).click()
    await watch(page).waitFor()
  })

  test('the demo runs to its end with the keyboard alone', async () => {
    await using tab = await site.open('/')
    const { page } = tab
    await watch(page).waitFor()
    for (let step = 0; step < 20; step += 1) {
      if (await watch(page).and(page.locator(':focus')).isVisible()) break
      await page.keyboard.press('Tab')
    }
    await page.keyboard.press('Enter')
    await page.waitForURL('**/c/*')
    await approve(page).waitFor(POLL)
    await expect
      .poll(async () => {
        await page.keyboard.press('a')
        await page.keyboard.press('Enter')
        return statusOf(page)
      }, POLL)
      .not.toBe('waiting_for_confirmation')
    await seesTheEnd(page)
  })

  test('the demo fits a phone, is decided by touch, and its field stays above the keyboard', async () => {
    await using tab = await site.open('/', { width: 390, height: 844, isTouch: true })
    const { page } = tab
    await watch(page).waitFor()
    await tab.shot('welcome-phone')
    const isWide = () => page.evaluate<boolean>('document.documentElement.scrollWidth > innerWidth')
    expect(await isWide()).toBe(false)
    await watch(page).tap()
    await page.waitForURL('**/c/*')
    await approve(page).waitFor(POLL)
    await tab.shot('demo-approval-phone')
    expect(await isWide()).toBe(false)
    await expect
      .poll(async () => {
        if (await approve(page).isVisible()) await approve(page).tap()
        return statusOf(page)
      }, POLL)
      .not.toBe('waiting_for_confirmation')
    await seesTheEnd(page)
    await tab.shot('demo-end-phone')
    // The on-screen keyboard takes the lower half.
    await page.setViewportSize({ width: 390, height: 420 })
    const field = page.getByRole('textbox', { name: 'Message' })
    await field.tap()
    await field.pressSequentially('Thanks')
    const box = await field.boundingBox()
    expect(box === null ? 0 : box.y + box.height).toBeLessThanOrEqual(420)
    expect(await isWide()).toBe(false)
  })

  test('the checker finds nothing on the page in any colours', async () => {
    for (const colors of ['light', 'dark', 'forced'] as const) {
      await using tab = await site.open('/welcome', { colors })
      await tab.page.getByText('Gemini CLI').waitFor()
      await tab.shot(`welcome-${colors}`)
      expect([colors, await axeViolations(tab.page, colors === 'light' ? 'all' : 'colors')]).toEqual([colors, []])
    }
  })

  test('each known agent can be used, or shows the command that installs it', async () => {
    await using tab = await site.open('/welcome')
    const { page } = tab
    const { body } = await site.server.call('GET', '/api/acp/servers')
    expect(body.servers).toHaveLength(3)
    for (const { installed, install } of body.servers)
      if (!installed) await page.getByText(install, { exact: true }).waitFor()
    const uses = body.servers.filter(({ installed }: any) => installed).length
    await expect.poll(() => page.getByRole('button', { name: /^Use / }).count(), POLL).toBe(uses)
  })

  test('an installed agent leads to a new conversation in a directory with this agent', async () => {
    await using tab = await site.open('/')
    const { page } = tab
    const directory = site.server.dir.file('project')
    await mkdir(directory)
    const codex = { id: 'codex', installed: true, version: '2.6.0', login: null, secret_name: 'OPENAI_API_KEY' }
    const servers = [{ ...codex, install: 'npm install -g @agentclientprotocol/codex-acp@2.6.0' }]
    await page.route('**/api/acp/servers', (route) => route.fulfill({ json: { servers } }))
    await page.goto('/welcome')
    await page.getByText('Version 2.6.0 · no login found', { exact: false }).waitFor()
    await tab.shot('welcome-agent')
    await page.getByRole('button', { name: 'Use Codex' }).click()
    const agent = page.getByRole('combobox', { name: 'Agent' })
    await expect.poll(async () => agent.locator('option:checked').textContent(), POLL).toBe('codex')
    const { body } = await site.server.call('GET', '/api/agent-profiles/codex')
    expect(body.profile).toMatchObject({ agent_kind: 'acp', acp_server: 'codex' })
    await page.getByLabel('Directory on the server').fill(directory)
    await page.getByRole('button', { name: 'Start conversation' }).click()
    await page.waitForURL('**/c/*')
    const id = new URL(page.url()).pathname.slice('/c/'.length)
    const info = (await site.server.call('GET', `/api/conversations/${id}`)).body
    expect(info.agent).toMatchObject({ kind: 'ACPAgent', acp_server: 'codex' })
  })

  test('a demo that cannot start is explained, and can be tried again', async () => {
    await using tab = await site.open('/')
    const { page } = tab
    tab.allow(/status of 503/)
    await page.route('**/api/demo', (route) => route.fulfill({ status: 503, json: { detail: 'The store is away.' } }))
    await watch(page).click()
    await page.getByRole('alert').getByText('The store is away.').waitFor()
    await page.unroute('**/api/demo')
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.waitForURL('**/c/*')
  })
})
