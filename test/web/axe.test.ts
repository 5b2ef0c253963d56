/** Every page of the shell under the accessibility checker, in dark, light and forced colours. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { axeViolations } from './axe.ts'
import { converse, startTaskModel, useModel } from './conversations.ts'
import { CHROMIUM, openSite, SCENARIO_MS, type Site, type Tab } from './harness.ts'

const heading = (name: string) => (tab: Tab) => tab.page.getByRole('heading', { name }).first().waitFor()

const PAGES: [name: string, path: string, isReady: (tab: Tab) => Promise<void>][] = [
  ['home', '/', heading('Recent')],
  ['new', '/new?where=directory', heading('New conversation')],
  ['approvals', '/approvals', heading('Approvals')],
  ['settings', '/settings', heading('Settings')],
  ['policy', '/settings/policy', (tab) => tab.page.getByRole('button', { name: 'Save' }).waitFor()],
  ['secrets', '/settings/secrets', (tab) => tab.page.getByRole('button', { name: 'Add a secret' }).waitFor()],
  ['agents', '/settings/agents', (tab) => tab.page.getByText('Default', { exact: true }).waitFor()],
  ['agent', '/settings/agents?new=openhands', (tab) => tab.page.getByRole('button', { name: 'Save' }).waitFor()],
  ['model', '/settings/model', (tab) => tab.page.getByRole('button', { name: 'Check' }).waitFor()],
]

describe.skipIf(CHROMIUM === undefined)('the accessibility checker', { timeout: SCENARIO_MS }, () => {
  let site: Site
  let model: ScriptedModel
  beforeAll(async () => {
    model = await startTaskModel()
    site = await openSite()
    await useModel(site.server, model)
    await Promise.all([
      converse(site.server, 'Publish release 2.4.0', 'deploy it', 'waiting_for_confirmation'),
      converse(site.server, 'Explain the retry logic', 'Say hello', 'finished'),
    ])
  }, SCENARIO_MS)
  afterAll(async () => {
    await site[Symbol.asyncDispose]()
    await model[Symbol.asyncDispose]()
  })

  test.each(['light', 'dark', 'forced'] as const)('finds nothing in %s colours', async (colors) => {
    // The same elements in all colours: the rules about them are checked once.
    const check = (page: Page) => axeViolations(page, colors === 'light' ? 'all' : 'colors')
    await using tab = await site.open('/', { colors })
    for (const [name, path, isReady] of PAGES) {
      await tab.page.goto(path)
      await isReady(tab)
      await tab.shot(`${name}-${colors}`)
      expect([name, await check(tab.page)]).toEqual([name, []])
    }
    await tab.page.keyboard.press('?')
    await tab.page.getByRole('dialog').waitFor()
    expect(['keys', await check(tab.page)]).toEqual(['keys', []])
    await tab.page.keyboard.press('Escape')
    await tab.page.locator('.rail-account').click()
    expect(['menu', await check(tab.page)]).toEqual(['menu', []])
    await using out = await site.open('/', { colors, isSignedIn: false })
    out.allow(/status of 401/)
    await heading('Sign in')(out)
    expect(['login', await check(out.page)]).toEqual(['login', []])
  })
})
