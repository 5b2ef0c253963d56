/** Adding a model in a real browser: it is tried, saved, and then answers in a conversation. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { freePort } from '../../packages/server/testing/free-port.ts'
import {
  type ScriptedAnswer,
  type ScriptedModel,
  startScriptedModel,
} from '../../packages/server/testing/scripted-model.ts'
import { CHROMIUM, openSite, SCENARIO_MS, type Site } from './harness.ts'

const RIGHT = 'the-right-key-4711'
const NOTHING = { llm_model: null, llm_base_url: null, llm_api_key: null }

const REFUSALS: Readonly<Record<string, ScriptedAnswer>> = {
  unknown: { status: 404, error: 'The model `unknown` does not exist' },
  unpaid: { status: 429, error: { error: { code: 'insufficient_quota', message: 'You exceeded your current quota' } } },
}

describe.skipIf(CHROMIUM === undefined)('the model of the settings', { timeout: SCENARIO_MS }, () => {
  let site: Site
  let model: ScriptedModel
  beforeAll(async () => {
    model = await startScriptedModel({
      respond: ({ account, view }) => {
        if (!account.endsWith(RIGHT)) return { status: 401, error: 'Incorrect API key provided' }
        return REFUSALS[view.model] ?? { text: 'Hello from the model.' }
      },
    })
    site = await openSite()
  }, SCENARIO_MS)
  beforeEach(async () => void (await site.server.call('POST', '/api/settings', NOTHING)))
  afterAll(async () => {
    await site[Symbol.asyncDispose]()
    await model[Symbol.asyncDispose]()
  })

  const fill = async (page: Page, name: string, key: string, address = `${model.url}/v1`): Promise<void> => {
    await page.getByRole('radio', { name: /^Other/ }).check()
    await page.getByLabel('Address', { exact: true }).fill(address)
    await page.getByRole('combobox', { name: 'Model', exact: true }).fill(name)
    await page.getByLabel(/^API key/).fill(key)
  }
  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
  const settings = async () => (await site.server.call('GET', '/api/settings')).body

  test('a wrong key is said and not saved, the right one is, and the agent then answers a task from Home', async () => {
    await using tab = await site.open('/')
    const { page } = tab
    await page.getByRole('link', { name: 'Add a model' }).click()
    await fill(page, 'scripted', 'wrong')
    await button(page, 'Save').click()
    await page.getByText('Wrong key. The provider refuses it.').waitFor()
    await tab.shot('model-wrong-key')
    expect(await settings()).toMatchObject({ llm_model: null, llm_api_key_set: false })
    await fill(page, 'scripted', RIGHT)
    await button(page, 'Check').click()
    await page.getByText('It works. The model answered.').waitFor()
    await tab.shot('model-works')
    await button(page, 'Save').click()
    await page.waitForURL(`${site.server.url}/`)
    const task = page.getByLabel('Task')
    await task.and(page.locator(':focus')).waitFor()
    await page.getByRole('link', { name: 'Add a model' }).waitFor({ state: 'detached' })
    await page.keyboard.type('Say hello')
    await page.keyboard.press('Enter')
    await page.getByText('Hello from the model.').first().waitFor()
    await expectNoKey(page)
    await page.locator('.rail-account').click()
    await page.getByRole('menuitem', { name: 'Settings' }).click()
    await page
      .getByRole('main')
      .getByRole('link', { name: /^Model/ })
      .click()
    await page.getByText('A key is stored. Leave this empty to keep it.').waitFor()
    expect(await page.getByLabel(/^API key/).inputValue()).toBe('')
    await button(page, 'Check').click()
    await page.getByText('It works. The model answered.').waitFor()
    await expectNoKey(page)
    // The key stays with the address that it was stored for.
    await page.getByLabel('Address', { exact: true }).fill(`${model.url}/other/v1`)
    await page.getByText('It is never shown again.').waitFor()
    expect((await settings()).llm_base_url).toBe(`${model.url}/v1`)
  })

  test.each([
    ['unknown', 'No such model. The provider does not know this name.'],
    ['unpaid', 'No credit. The account of this key has none left.'],
  ])('the model %s is checked, and the page says why it does not answer', async (name, words) => {
    await using tab = await site.open('/settings/model')
    await fill(tab.page, name, RIGHT)
    await button(tab.page, 'Check').click()
    await tab.page.getByText(words).waitFor()
    expect((await settings()).llm_model).toBe(null)
  })

  test('a server that is off is said to be unreachable, and its model can be saved all the same', async () => {
    {
      await using dark = await site.open('/settings/model', { colors: 'dark' })
      await dark.page.getByRole('radio', { name: /^Ollama/ }).check()
      await dark.shot('model-ollama-dark')
    }
    await using tab = await site.open('/settings/model', { width: 390, height: 844, isTouch: true })
    const { page } = tab
    await fill(page, 'scripted', '', 'not an address')
    await button(page, 'Save').click()
    await page.getByText('An address begins with http:// or https://.').waitFor()
    const address = `http://127.0.0.1:${await freePort()}/v1`
    await fill(page, 'scripted', '', address)
    await button(page, 'Save').click()
    await page.getByText('Unreachable. Nothing answers at this address.').waitFor()
    await tab.shot('model-phone')
    await page.evaluate('scrollTo(0, 0); document.querySelector("main").scrollTo(0, 0)')
    await tab.shot('model-phone-top')
    await button(page, 'Save anyway').click()
    await page.waitForURL(`${site.server.url}/`)
    expect(await settings()).toMatchObject({ llm_model: 'openai/scripted', llm_base_url: address })
  })

  test('a value that the server refuses is explained beside its field', async () => {
    await using tab = await site.open('/settings/model')
    tab.allow(/status of 422/)
    const { page } = tab
    await page.route('**/api/settings', async (route) => {
      if (route.request().method() !== 'POST') return route.continue()
      const body = { ...route.request().postDataJSON(), llm_model: 7 }
      await route.continue({ postData: JSON.stringify(body) })
    })
    await fill(page, 'scripted', RIGHT)
    await button(page, 'Save').click()
    const field = page.getByRole('combobox', { name: 'Model', exact: true })
    await field.and(page.locator('[aria-invalid=true]')).waitFor()
    expect(await page.locator('.field-error').textContent()).toContain('valid string')
  })

  test('a conversation that failed without a model leads to the page, and continues with the model', async () => {
    await using tab = await site.open('/')
    const { page } = tab
    await page.getByLabel('Task').fill('Say hello')
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'Set the model' }).click()
    await fill(page, 'scripted', RIGHT)
    await button(page, 'Save').click()
    await page.getByRole('button', { name: 'Run again' }).first().click()
    await page.getByText('Hello from the model.').first().waitFor()
    await expectNoKey(page)
  })

  test('a key that may only read sees the model and no control', async () => {
    await site.server.call('POST', '/api/settings', { llm_model: 'anthropic/claude-sonnet-4-5', llm_api_key: RIGHT })
    const { body: made } = await site.server.call('POST', '/api/keys', { user: 'default', role: 'read-only' })
    await using tab = await site.open('/settings/model', { isSignedIn: false })
    tab.allow(/status of 401/)
    const { page } = tab
    await page.getByLabel('API key').fill(made.key)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('claude-sonnet-4-5').waitFor()
    await tab.shot('model-read-only')
    expect(await page.getByText('A key is stored').count()).toBe(1)
    expect(await page.locator('main').locator('input, select, button').count()).toBe(0)
  })
})

/** The key is in no text, attribute, storage or address of the page. */
async function expectNoKey(page: Page): Promise<void> {
  const places =
    'JSON.stringify([document.documentElement.outerHTML, { ...localStorage }, { ...sessionStorage }, history.state])'
  expect(await page.evaluate<string>(places)).not.toContain(RIGHT)
  expect(page.url()).not.toContain(RIGHT)
}
