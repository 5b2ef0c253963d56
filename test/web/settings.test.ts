/** The pages of the settings in a real browser: policy, secrets, agents. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { startTaskModel, useModel } from './conversations.ts'
import { CHROMIUM, openSite, SCENARIO_MS, type Site } from './harness.ts'

const VALUE = 'a-value-4711'

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

  test('a secret is stored, explained when it does not fit, renamed, replaced and deleted, and its value is shown nowhere', async () => {
    await using tab = await site.open('/settings/secrets')
    tab.allow(/status of 4(09|22)/)
    const { page } = tab
    await page.getByText('No secrets yet').waitFor()
    await tab.shot('secrets-empty')
    await button(page, 'Add a secret').click()
    const dialog = page.getByRole('dialog')
    await button(page, 'Save').click()
    await dialog.getByText('Enter a name.').waitFor()
    await dialog.getByLabel('Name').fill('PATH')
    await dialog.getByLabel('Value').fill(VALUE)
    await button(page, 'Save').click()
    await dialog.locator('.field-error').getByText('belongs to the system').waitFor()
    await tab.shot('secret-refused')
    await dialog.getByLabel('Name').fill('REGISTRY_TOKEN')
    await dialog.getByLabel(/^Description/).fill('Reads packages')
    await button(page, 'Save').click()
    await page.getByText('REGISTRY_TOKEN is stored').waitFor()
    await button(page, 'Add a secret').click()
    await dialog.getByLabel('Name').fill('REGISTRY_TOKEN')
    await dialog.getByLabel('Value').fill(VALUE)
    await button(page, 'Save').click()
    await dialog.getByText('already exists').waitFor()
    await button(page, 'Cancel').click()
    await button(page, 'Edit REGISTRY_TOKEN').click()
    await dialog.getByLabel('Name').fill('PACKAGES_TOKEN')
    await dialog.getByLabel(/^New value/).fill(`${VALUE}-2`)
    await button(page, 'Save').click()
    await page.getByText('PACKAGES_TOKEN is stored').waitFor()
    await tab.shot('secrets')
    expect(await read('/api/settings/secrets/PACKAGES_TOKEN')).toBe(`${VALUE}-2`)
    const places = 'JSON.stringify([document.documentElement.outerHTML, { ...localStorage }, { ...sessionStorage }])'
    expect(await page.evaluate<string>(places)).not.toContain(VALUE)
    await button(page, 'Delete PACKAGES_TOKEN').click()
    await tab.shot('secret-delete')
    await button(page, 'Delete').click()
    await page.getByText('No secrets yet').waitFor()
    expect((await read('/api/secrets')).custom_secrets).toEqual([])
  })

  test('pasted lines with names are stored as secrets, and a line that is refused stays with its reason', async () => {
    await using tab = await site.open('/settings/secrets', { width: 390, height: 844, colors: 'dark' })
    tab.allow(/status of 422/)
    const { page } = tab
    await button(page, 'Add a secret').click()
    await paste(page, `# of the project\nexport ONE_TOKEN="${VALUE} 1"\nHOME=${VALUE}\nTWO_TOKEN=${VALUE}=2\n`)
    await page.getByText('3 secrets to store:').waitFor()
    await tab.shot('secret-lines')
    await button(page, 'Store 3 secrets').click()
    await page.getByText(/HOME: .*belongs to the system/).waitFor()
    await button(page, 'Store 1 secret').waitFor()
    expect((await read('/api/secrets')).custom_secrets.map(({ name }: any) => name)).toEqual(['ONE_TOKEN', 'TWO_TOKEN'])
    expect(await read('/api/settings/secrets/ONE_TOKEN')).toBe(`${VALUE} 1`)
    expect(await read('/api/settings/secrets/TWO_TOKEN')).toBe(`${VALUE}=2`)
    await button(page, 'Back').click()
    await paste(page, `THREE=${VALUE}`)
    expect(await page.getByLabel('Name').inputValue()).toBe('THREE')
    await button(page, 'Save').click()
    await page.getByText('THREE is stored').waitFor()
    await tab.shot('secrets-phone-dark')
  })

  async function paste(page: Page, text: string): Promise<void> {
    await page.getByLabel('Value').focus()
    await page.evaluate(`(() => {
      const clipboardData = new DataTransfer()
      clipboardData.setData('text', ${JSON.stringify(text)})
      document.activeElement.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }))
    })()`)
  }

  async function startOnHome(page: Page): Promise<string> {
    await page.goto('/')
    await page.getByText('asks before risky actions').waitFor()
    await page.getByLabel('Task').fill('Say hello')
    await page.getByLabel('Task').press('Enter')
    return startedId(page)
  }
})
