/** The shell and the pages home, new conversation and approvals in a real browser. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { ROUTES } from '../../packages/web/src/routes.ts'
import { until } from '../../packages/server/testing/until.ts'
import { converse, startTaskModel, useModel } from './conversations.ts'
import { CHROMIUM, openSite, SCENARIO_MS, type Site } from './harness.ts'

describe.skipIf(CHROMIUM === undefined)('the shell', { timeout: SCENARIO_MS }, () => {
  let site: Site
  let model: ScriptedModel
  beforeAll(async () => {
    model = await startTaskModel()
    site = await openSite()
  }, SCENARIO_MS)
  afterAll(async () => {
    await site[Symbol.asyncDispose]()
    await model[Symbol.asyncDispose]()
  })

  test('the server answers every route of the UI with the page', async () => {
    for (const route of Object.values(ROUTES)) {
      const path = route.replace(/:\w+/, 'some-id')
      const answer = await fetch(site.server.url + path, { headers: { accept: 'text/html' } })
      expect([path, answer.status, answer.headers.get('content-type')]).toEqual([path, 200, 'text/html; charset=utf-8'])
      await answer.body?.cancel()
    }
  })

  test('an empty home offers three ways to begin, each of which opens its choice', async () => {
    await useModel(site.server, model)
    await using tab = await site.open('/')
    const { page } = tab
    await page.getByText('No conversations yet').waitFor()
    await tab.shot('home-empty')
    await page.getByRole('link', { name: /Work on a repository/ }).click()
    await page.getByRole('textbox', { name: 'Repository' }).waitFor()
    await page.getByRole('button', { name: 'Start conversation' }).click()
    await page.getByText('Name a repository.').waitFor()
  })

  test('a query that never gets an answer is repeated after growing pauses', async () => {
    await using tab = await site.open('/')
    tab.allow(/ERR_FAILED/)
    const { page } = tab
    let [failed, asked] = [0, 0]
    await page.route('**/api/approvals*', (route) => {
      failed++
      return route.abort()
    })
    page.on('request', (request) => void (asked += Number(request.url().endsWith('/alive'))))
    await page.reload()
    await until(() => asked >= 3)
    expect(failed).toBeLessThan(10)
  })

  test('a task on the home page starts a conversation that asks before risky actions', async () => {
    await using tab = await site.open('/')
    const { page } = tab
    await page.getByLabel('Task').fill('Say hello')
    await page.getByLabel('Task').press('Enter')
    await page.waitForURL('**/c/*')
    const id = new URL(page.url()).pathname.slice('/c/'.length)
    const { body } = await site.server.call('GET', `/api/conversations/${id}`)
    expect(body.confirmation_policy).toEqual({ kind: 'ConfirmRisky', threshold: 'MEDIUM', confirm_unknown: true })
    expect(body.security_analyzer.kind).toBe('EnsembleSecurityAnalyzer')
    const messages = async () =>
      (await site.server.call('GET', `/api/conversations/${id}/events/search?kind=MessageEvent`)).body.items
    await until(async () => (await messages()).length > 0)
    expect((await messages())[0].llm_message.content).toMatchObject([{ type: 'text', text: 'Say hello' }])
    await page.goto('/')
    expect(await page.getByLabel('Task').inputValue()).toBe('')
  })

  test('a start whose answer is lost is repeated under its id, and other choices get another one', async () => {
    await using tab = await site.open('/new')
    tab.allow(/ERR_FAILED/)
    const { page } = tab
    const ids: string[] = []
    // The server gets each request for the policy, and the page no answer to it.
    await page.route('**/confirmation_policy', async (route) => {
      await route.fetch()
      await route.abort()
      ids.push(new URL(route.request().url()).pathname.split('/')[3]!)
    })
    const start = page.getByRole('button', { name: 'Start conversation' })
    await page.getByLabel('Task').fill('Say hello')
    for (const count of [1, 2]) {
      await start.click()
      await expect.poll(() => ids.length).toBe(count)
      await page.getByRole('button', { name: 'Try again' }).waitFor()
    }
    await page.getByLabel('For every action').check()
    await start.click()
    await expect.poll(() => ids.length).toBe(3)
    expect(ids[1]).toBe(ids[0])
    expect(ids[2]).not.toBe(ids[0])
  })

  test('a new conversation works in the chosen directory under the chosen policy', async () => {
    await using tab = await site.open('/new?where=directory')
    const { page } = tab
    await page.getByLabel('Task').fill('Say hello')
    await page.getByLabel('Directory on the server').fill(site.server.dir.file('work'))
    await page.getByLabel('For every action').check()
    await tab.shot('new-directory')
    await page.getByRole('button', { name: 'Start conversation' }).click()
    await page.waitForURL('**/c/*')
    const id = new URL(page.url()).pathname.slice('/c/'.length)
    const { body } = await site.server.call('GET', `/api/conversations/${id}`)
    expect(body.workspace.working_dir).toBe(site.server.dir.file('work'))
    expect(body.confirmation_policy.kind).toBe('AlwaysConfirm')
  })

  test('a new conversation has the chosen model, and a repository that cannot be cloned is a failed start with its reason', async () => {
    const llm = { model: 'openai/fast', base_url: `${model.url}/v1`, api_key: 'scripted' }
    await site.server.call('POST', '/api/profiles/fast', { llm })
    await using tab = await site.open('/new?where=repository')
    const { page } = tab
    await page.getByRole('textbox', { name: 'Repository' }).fill('https://127.0.0.1:1/acme/shop')
    await page.getByLabel('Model').selectOption('fast')
    await tab.shot('new-repository')
    await page.getByRole('button', { name: 'Start conversation' }).click()
    await page.waitForURL('**/c/*')
    const path = `/api/conversations/${new URL(page.url()).pathname.slice('/c/'.length)}`
    await until(async () => (await site.server.call('GET', `${path}/status`)).body.status === 'STOPPED')
    expect((await site.server.call('GET', path)).body.agent.llm.model).toBe('openai/fast')
    await page.goto('/')
    await page
      .locator('main')
      .getByRole('link', { name: /could not be cloned.*Start failed/ })
      .waitFor()
  })

  test('home, rail, title and approvals show what waits for a person and what runs', async () => {
    const [waiting] = await Promise.all([
      converse(site.server, 'Publish release 2.4.0', 'deploy it', 'waiting_for_confirmation'),
      converse(site.server, 'Migrate the tests', 'wait', 'running'),
      converse(site.server, 'Explain the retry logic', 'Say hello', 'finished'),
    ])
    await using tab = await site.open('/')
    const { page } = tab
    const section = (name: string) => page.locator('main section', { has: page.getByRole('heading', { name }) })
    await section('Needs attention')
      .getByRole('link', { name: /Publish release 2.4.0.*Waits for you/ })
      .waitFor()
    await section('Running')
      .getByRole('link', { name: /Migrate the tests/ })
      .waitFor()
    await section('Recent')
      .getByRole('link', { name: /Explain the retry logic/ })
      .waitFor()
    await expect.poll(() => page.title()).toBe('(1) Home · Parley')
    await tab.shot('home')

    await page.getByLabel('Filter conversations').fill('retry')
    const rail = page.getByRole('navigation')
    await rail.getByRole('link', { name: /Migrate/ }).waitFor({ state: 'detached' })
    await rail.getByRole('link', { name: /Explain the retry logic/ }).waitFor()
    await page.getByRole('link', { name: /Approvals/ }).click()
    await page
      .locator('main')
      .getByRole('link', { name: /Publish release 2.4.0/ })
      .waitFor()
    await tab.shot('approvals')
    await page.getByText('git push --force origin main').waitFor()
    await page.getByRole('link', { name: 'Review' }).click()
    await page.waitForURL(`**/c/${waiting}?at=*`)
  })

  test('keys open pages, the filter and the list of keys, and do nothing in a field', async () => {
    await using tab = await site.open('/')
    const { page } = tab
    await page.getByLabel('Task').fill('')
    await page.getByLabel('Task').pressSequentially('c?')
    expect(await page.getByLabel('Task').inputValue()).toBe('c?')
    await page.getByLabel('Task').fill('')
    await page.locator('body').click({ position: { x: 700, y: 790 } })
    const focused = page.locator(':focus')
    await page.keyboard.type('j')
    expect(await focused.textContent()).toContain('Publish release 2.4.0')
    await page.keyboard.type('jk')
    expect(await focused.textContent()).toContain('Publish release 2.4.0')
    await page.keyboard.type('ga')
    await page.getByRole('heading', { name: 'Approvals' }).waitFor()
    await page.getByRole('link', { name: 'Review' }).waitFor()
    await page.keyboard.type('j')
    expect(await focused.textContent()).toBe('Review')
    await page.keyboard.type('c')
    await page.getByRole('heading', { name: 'New conversation' }).waitFor()
    await page.keyboard.type('/')
    expect(await page.getByLabel('Filter conversations').evaluate((field) => field.matches(':focus'))).toBe(true)
    await page.keyboard.press('Escape')
    await page.keyboard.type('?')
    const keys = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
    await keys.getByLabel('Use single letters').uncheck()
    await page.keyboard.press('Escape')
    await keys.waitFor({ state: 'detached' })
    await page.keyboard.type('gh')
    expect(new URL(page.url()).pathname).toBe('/new')
  })

  test('while the server does not answer, a line says so and the page stays', async () => {
    await using tab = await site.open('/')
    tab.allow(/ERR_INTERNET_DISCONNECTED/)
    const { page } = tab
    await page.getByRole('heading', { name: 'Recent' }).waitFor()
    await page.context().setOffline(true)
    await page.getByLabel('Task').fill('Say hello')
    await page.getByLabel('Task').press('Enter')
    await page.getByText(/Next attempt in/).waitFor()
    await page.getByRole('heading', { name: 'Recent' }).waitFor()
    expect(await page.getByLabel('Task').inputValue()).toBe('Say hello')
    await tab.shot('offline')
    await page.context().setOffline(false)
    await page.getByText(/Next attempt in/).waitFor({ state: 'detached' })
  })

  test.each([390, 320])('at %i pixels a bar leads to all pages, and nothing is cut off', async (width) => {
    await using tab = await site.open('/', { width, height: 844, isTouch: true, colors: 'dark' })
    const { page } = tab
    await page.getByRole('heading', { name: 'Recent' }).waitFor()
    await tab.shot(`home-phone-${width}`)
    for (const name of ['New', 'Approvals', 'Home']) {
      await page.getByRole('navigation').getByRole('link', { name }).click()
      const overflow = await page.locator('main').evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)
      expect([name, overflow]).toEqual([name, 0])
    }
    await page.getByRole('button', { name: 'List' }).click()
    await page
      .getByRole('dialog')
      .getByRole('link', { name: /Explain the retry logic/ })
      .click()
    await page.waitForURL('**/c/*')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  })

  test('a key that may only read sees no control that would be refused', async () => {
    const { body: made } = await site.server.call('POST', '/api/keys', { user: 'default', role: 'read-only' })
    await using tab = await site.open('/', { isSignedIn: false })
    tab.allow(/status of 401/)
    const { page } = tab
    await page.getByLabel('API key').fill(made.key)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('Your key can read conversations and not start them.').waitFor()
    expect(await page.getByLabel('Task').count()).toBe(0)
    expect(await page.getByRole('link', { name: 'New conversation' }).count()).toBe(0)
  })
})
