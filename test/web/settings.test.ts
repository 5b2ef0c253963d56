/** The pages of the settings in a real browser: policy, secrets, agents. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { startTaskModel, useModel } from './conversations.ts'
import { CHROMIUM, openSite, SCENARIO_MS, type Site } from './harness.ts'

describe.skipIf(CHROMIUM === undefined)('the settings', { timeout: SCENARIO_MS }, () => {
  let site: Site
  let model: ScriptedModel
  beforeAll(async () => {
    model = await startTaskModel()
    site = await openSite()
    await useModel(site.server, model)
  }, SCENARIO_MS)
  afterAll(async () => {
    await site[Symbol.asyncDispose]()
    await model[Symbol.asyncDispose]()
  })

  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
  const read = async (path: string) => (await site.server.call('GET', path)).body
  const startedId = async (page: Page): Promise<string> => {
    await page.waitForURL('**/c/*')
    return new URL(page.url()).pathname.slice('/c/'.length)
  }

  test('the list of the settings leads to each page, and a narrow page leads back', async () => {
    await using tab = await site.open('/', { width: 390, height: 844, isTouch: true })
    const { page } = tab
    await page.goto('/settings')
    await page.getByRole('link', { name: 'Policy' }).waitFor()
    await tab.shot('settings-phone')
    await page.getByRole('link', { name: 'Policy' }).click()
    await page.getByRole('heading', { name: 'Policy' }).waitFor()
    await page.getByRole('main').getByRole('link', { name: 'Settings' }).click()
    await page.getByRole('heading', { name: 'Settings' }).waitFor()
  })

  test('a stored policy applies to conversations that start on Home and from other clients', async () => {
    await using tab = await site.open('/settings/policy')
    const { page } = tab
    await page.getByText('You have not chosen a policy.').waitFor()
    await tab.shot('policy')
    await page.getByLabel('Known patterns').uncheck()
    await page.getByLabel('The model’s own estimate').uncheck()
    await page.getByText('Choose at least one.').waitFor()
    await button(page, 'Save').click()
    expect((await read('/api/settings')).confirmation_mode).toBe(null)
    await page.getByLabel('Fixed rules').check()
    await page.getByLabel('Known patterns').check()
    await page.getByRole('radio', { name: /^High/ }).check()
    await button(page, 'Save').click()
    await page.getByText('The policy is saved.').waitFor()
    await tab.shot('policy-saved')
    const policy = { kind: 'ConfirmRisky', threshold: 'HIGH', confirm_unknown: true }
    const analyzers = [{ kind: 'PatternSecurityAnalyzer' }, { kind: 'PolicyRailSecurityAnalyzer' }]
    const { body: other } = await site.server.call('POST', '/api/conversations', {})
    for (const id of [other.conversation_id, await startOnHome(page)]) {
      const shown = await read(`/api/conversations/${id}`)
      expect(shown.confirmation_policy).toEqual(policy)
      expect(shown.security_analyzer.analyzers).toMatchObject(analyzers)
    }
    await page.goto('/settings/policy')
    await page.getByRole('radio', { name: /^Never/ }).check()
    await button(page, 'Save').click()
    await page.getByText('The policy is saved.').waitFor()
    await page.goto('/new')
    await expect.poll(() => page.getByRole('radio', { name: /^Never/ }).isChecked()).toBe(true)
    await button(page, 'Start conversation').click()
    const { confirmation_policy } = await read(`/api/conversations/${await startedId(page)}`)
    expect(confirmation_policy.kind).toBe('NeverConfirm')
  })

  async function startOnHome(page: Page): Promise<string> {
    await page.goto('/')
    await page.getByText('asks before risky actions').waitFor()
    await page.getByLabel('Task').fill('Say hello')
    await page.getByLabel('Task').press('Enter')
    return startedId(page)
  }
})
