/** Signing in and out in a real browser. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { KEY } from '../../packages/server/testing/server.ts'
import { CHROMIUM, loginCode, openSite, SCENARIO_MS, type Site } from './harness.ts'

/** What the browser says about a request that was refused. */
const REFUSED = /status of 401/

describe.skipIf(CHROMIUM === undefined)('signing in', { timeout: SCENARIO_MS }, () => {
  let site: Site
  beforeAll(async () => {
    site = await openSite()
  }, SCENARIO_MS)
  afterAll(() => site[Symbol.asyncDispose]())

  test('a login link signs in, leaves a clean address, and is refused when it is used again', async () => {
    const code = await loginCode(site.server)
    {
      await using tab = await site.open(`/new#login=${code}`, { isSignedIn: false })
      await tab.page.getByRole('heading', { name: 'New conversation' }).waitFor()
      expect(tab.page.url()).toBe(`${site.server.url}/new`)
      await tab.page.reload()
      await tab.page.getByRole('heading', { name: 'New conversation' }).waitFor()
    }
    await using tab = await site.open(`/#login=${code}`, { isSignedIn: false })
    tab.allow(REFUSED)
    await tab.page.getByText('This link has been used or has expired').waitFor()
    expect(tab.page.url()).toBe(`${site.server.url}/`)
    await tab.shot('login-link-used')
    // Pasted into the same page, a fresh link only changes the fragment.
    await tab.page.goto(`/#login=${await loginCode(site.server)}`)
    await tab.page.getByRole('heading', { name: 'Welcome to Parley' }).waitFor()
  })

  test('a key signs in and is not stored, a new tab joins, and signing out ends all tabs and the session', async () => {
    await using tab = await site.open('/', { isSignedIn: false })
    tab.allow(REFUSED)
    const { page } = tab
    await page.getByLabel('API key').fill('wrong')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('The server does not know this key.').waitFor()
    await page.getByLabel('API key').fill(KEY)
    await tab.shot('login')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Welcome to Parley' }).waitFor()
    const stored = await page.evaluate<string>('JSON.stringify([{ ...localStorage }, { ...sessionStorage }])')
    expect(stored).not.toContain(KEY)
    expect(stored).toContain('parley.session')

    const second = await page.context().newPage()
    await second.goto('/approvals')
    await second.getByRole('heading', { name: 'Approvals' }).waitFor()
    await second.locator('.rail-account').click()
    const ended = second.waitForResponse('**/api/auth/sessions/current')
    await second.getByRole('menuitem', { name: 'Sign out' }).click()
    expect((await ended).status()).toBe(204)
    await second.getByRole('heading', { name: 'Sign in' }).waitFor()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    expect(await page.evaluate('sessionStorage.length + localStorage.length')).toBe(0)
  })

  test('when a session ends, the key is asked for over the page, and what was written stays', async () => {
    await using tab = await site.open('/new')
    tab.allow(REFUSED)
    const { page } = tab
    await page.getByLabel('Task').fill('A long text')
    const { body: sessions } = await site.server.call('GET', '/api/auth/sessions')
    for (const { id } of sessions) await site.server.call('DELETE', `/api/auth/sessions/${id}`)
    const dialog = page.getByRole('dialog', { name: 'Sign in again' })
    await dialog.getByLabel('API key').fill(KEY)
    await tab.shot('login-again')
    await dialog.getByRole('button', { name: 'Sign in' }).click()
    await dialog.waitFor({ state: 'detached' })
    expect(await page.getByLabel('Task').inputValue()).toBe('A long text')
  })
})
