/** A start that fails, in a real browser. */
import { describe, expect, test } from 'vitest'
import { startGitServer } from '../../packages/server/testing/git-server.ts'
import { startTaskModel, useModel } from './conversations.ts'
import { CHROMIUM, openSite, SCENARIO_MS } from './harness.ts'

describe.skipIf(CHROMIUM === undefined)('the start of a conversation', { timeout: SCENARIO_MS }, () => {
  test('a start that fails for its branch says so, and begins again with another branch and the same task', async () => {
    await using git = await startGitServer()
    await git.add('acme/shop', { branches: ['release'] })
    await using model = await startTaskModel()
    await using site = await openSite({ PARLEY_GIT_HOSTS: JSON.stringify({ gitlab: git.url }) })
    await useModel(site.server, model)
    await using tab = await site.open('/new?where=repository')
    const { page } = tab
    const startedId = async (): Promise<string> => {
      await page.waitForURL('**/c/*')
      return new URL(page.url()).pathname.slice('/c/'.length)
    }
    await page.getByLabel('Task').fill('Say hello to the shop')
    await page.getByRole('textbox', { name: 'Repository' }).fill(`${git.url}/acme/shop`)
    await page.getByRole('textbox', { name: 'Branch' }).fill('relaese')
    await page.getByRole('button', { name: 'Start conversation' }).click()
    const failed = await startedId()
    await page.getByText('GIT$BRANCH_NOT_FOUND').first().waitFor()
    await page
      .getByText(/has no branch relaese/)
      .first()
      .waitFor()
    await page.getByRole('group', { name: 'Error' }).waitFor()
    expect(await page.getByText(/has no branch relaese/).count()).toBe(1)
    await tab.shot('start-failed')
    await page.getByRole('link', { name: 'Change repository or branch' }).click()
    await expect.poll(() => page.getByRole('textbox', { name: 'Branch' }).inputValue()).toBe('relaese')
    expect(await page.getByLabel('Task').inputValue()).toBe('Say hello to the shop')
    // After a reload, the server knows the repository.
    await page.reload()
    await expect.poll(() => page.getByRole('textbox', { name: 'Branch' }).inputValue()).toBe('relaese')
    await page.getByLabel('Task').fill('Say hello to the shop')
    await page.getByRole('textbox', { name: 'Branch' }).fill('release')
    await page.getByRole('button', { name: 'Start conversation' }).click()
    await page.getByText('Done.').first().waitFor()
    const id = await startedId()
    expect(id).not.toBe(failed)
    expect((await site.server.call('GET', `/api/conversations/${id}/status`)).body).toMatchObject({
      status: 'RUNNING',
      selected_branch: 'release',
    })
  })
})
