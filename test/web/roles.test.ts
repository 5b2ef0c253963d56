/** What a page shows to whom: keys that may only read, and two users in one tab. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { storeKeys } from '../../packages/server/testing/stored-keys.ts'
import { converse, startTaskModel, useModel } from './conversations.ts'
import { CHROMIUM, openSite, SCENARIO_MS, type Site, type Tab } from './harness.ts'

/** In every name and text of the first user. */
const MARK = 'Heliotrope'

describe.skipIf(CHROMIUM === undefined)('roles and users', { timeout: SCENARIO_MS }, () => {
  let site: Site
  let model: ScriptedModel
  let waiting: string
  beforeAll(async () => {
    model = await startTaskModel()
    site = await openSite()
    await useModel(site.server, model)
    waiting = await converse(site.server, `${MARK} release`, `deploy ${MARK}`, 'waiting_for_confirmation')
    await site.server.call('POST', '/api/secrets', { name: `${MARK}_TOKEN`, value: 'a-value-4711' })
    const profile = { agent_kind: 'openhands', llm_profile_ref: 'default' }
    await site.server.call('POST', `/api/agent-profiles/${MARK}`, profile)
  }, SCENARIO_MS)
  afterAll(async () => {
    await site[Symbol.asyncDispose]()
    await model[Symbol.asyncDispose]()
  })

  async function signIn({ page }: Pick<Tab, 'page'>, key: string): Promise<void> {
    await page.getByLabel('API key').fill(key)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.locator('.rail-account').waitFor()
  }
  const signOut = async (page: Page): Promise<void> => {
    await page.locator('.rail-account').click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  }

  test('a key that may only read sees every page without a control that the server refuses', async () => {
    const [key] = await storeKeys(site.server.dir.file('data'), ['default', 'read-only'])
    await using tab = await site.open('/', { isSignedIn: false })
    tab.allow(/status of 401/)
    const { page } = tab
    await signIn(tab, key!)
    const refused: string[] = []
    page.on('response', (answer) => {
      if (answer.status() === 403) refused.push(`${answer.request().method()} ${answer.url()}`)
    })
    const main = page.getByRole('main')
    const pages: [path: string, text: string][] = [
      ['/', 'Needs attention'],
      ['/new', 'Your key can read conversations'],
      ['/approvals', 'Review'],
      ['/settings', 'Provider, name'],
      ['/settings/model', 'A key is stored'],
      ['/settings/policy', 'When to ask you'],
      ['/settings/secrets', `${MARK}_TOKEN`],
      ['/settings/agents', MARK],
      [`/settings/agents?edit=${MARK}`, MARK],
    ]
    for (const [path, text] of pages) {
      await page.goto(path)
      await main.getByText(text).first().waitFor()
      const controls = await main.locator('button, input, select, textarea').allInnerTexts()
      expect([path, controls]).toEqual([path, []])
      expect([path, await page.getByRole('link', { name: /^New/ }).count()]).toEqual([path, 0])
    }
    await page.goto(`/c/${waiting}`)
    await main.getByText('git push --force origin main').first().waitFor()
    await tab.shot('conversation-read-only')
    for (const name of ['Approve', 'Refuse', 'Send', 'Pause', 'Fork', 'Quote', 'Change'])
      expect([name, await main.getByRole('button', { name }).count()]).toEqual([name, 0])
    expect(await main.locator('textarea, input').count()).toBe(0)
    for (const keys of ['a', 'Enter', 'x', 'p', 'f', 'Escape', 'Escape', 'c']) await page.keyboard.press(keys)
    await main.getByText('Your key can read conversations').waitFor()
    expect(refused).toEqual([])
  })

  test('after a sign-out, another user of the same tab sees and stores nothing of the first one', async () => {
    const [key] = await storeKeys(site.server.dir.file('data'), ['bob', 'user'])
    await using tab = await site.open('/')
    tab.allow(/status of 40[14]/)
    tab.allow(/WebSocket/)
    const { page } = tab
    const visit = async (link: string): Promise<void> => page.getByRole('link', { name: link }).first().click()
    await page.getByLabel('Task').fill(`Plan ${MARK}`)
    await page.goto('/settings')
    await visit('Secrets')
    await page.getByText(`${MARK}_TOKEN`).waitFor()
    await visit('Agents')
    await page.getByText(MARK).first().waitFor()
    await visit(`${MARK} release`)
    await page.getByText('git push --force origin main').first().waitFor()
    await page.getByRole('textbox', { name: 'Message' }).fill(`More about ${MARK}`)
    await signOut(page)
    expect(await stored(page)).not.toContain(MARK)
    await signIn(tab, key!)
    await page.getByText('No such conversation').waitFor()
    expect(await everything(page)).not.toContain(MARK)
    for (const path of ['/', '/new', '/approvals', '/settings/model', '/settings/agents', '/settings/secrets']) {
      // Inside of the document, so that what it holds in memory is used.
      await page.evaluate(`history.pushState(null, '', ${JSON.stringify(path)})`)
      await page.getByRole('heading', { level: 1 }).waitFor({ state: 'attached' })
      if (path === '/settings/secrets') await page.getByText('No secrets yet').waitFor()
      expect([path, await everything(page)]).toEqual([path, expect.not.stringContaining(MARK)])
    }
  })

  test('when a session ends and another user signs in over the page, nothing of the first one stays', async () => {
    const [key] = await storeKeys(site.server.dir.file('data'), ['carol', 'user'])
    await using tab = await site.open(`/c/${waiting}`)
    tab.allow(/status of 40[14]/)
    tab.allow(/WebSocket/)
    const { page } = tab
    await page.getByText('git push --force origin main').first().waitFor()
    await page.getByRole('textbox', { name: 'Message' }).fill(`More about ${MARK}`)
    const { body: sessions } = await site.server.call('GET', '/api/auth/sessions')
    for (const { id } of sessions) await site.server.call('DELETE', `/api/auth/sessions/${id}`)
    const dialog = page.getByRole('dialog', { name: 'Sign in again' })
    await dialog.getByLabel('API key').fill(key!)
    await dialog.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('No such conversation').waitFor()
    expect(await everything(page)).not.toContain(MARK)
  })

  const stored = (page: Page): Promise<string> =>
    page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }])')
  const everything = async (page: Page): Promise<string> => `${await page.content()} ${await stored(page)}`
})
