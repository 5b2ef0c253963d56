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

  test('an agent is created, edited, renamed, copied, made the default, offered for a directory, and deleted', async () => {
    const llm = { model: 'openai/fast', base_url: `${model.url}/v1`, api_key: 'scripted' }
    await site.server.call('POST', '/api/profiles/fast', { llm })
    await using tab = await site.open('/settings/agents')
    tab.allow(/status of 4(09|22)/)
    const { page } = tab
    const choose = async (trigger: string, item: string): Promise<void> => {
      await button(page, trigger).click()
      await page.getByRole('menuitem', { name: item }).click()
    }
    await choose('New agent', 'Agent of Parley')
    await button(page, 'Save').click()
    await page.getByText('Enter a name.').waitFor()
    await page.getByLabel('Name').fill('two words')
    await button(page, 'Save').click()
    await page
      .locator('.field-error')
      .getByText(/pattern|match/i)
      .waitFor()
    await page.getByLabel('Name').fill('careful')
    await page.getByLabel('Model', { exact: true }).selectOption('fast')
    await page.getByRole('radio', { name: /^Chosen tools/ }).check()
    await page.getByRole('checkbox', { name: 'terminal', exact: true }).check()
    await page.getByLabel(/^Start sub-agents/).check()
    await page.getByLabel(/^Instructions/).fill('Explain each step.')
    await tab.shot('agent')
    await button(page, 'Save').click()
    await page.getByText('careful is saved').waitFor()
    expect((await read('/api/agent-profiles/careful')).profile).toMatchObject({
      llm_profile_ref: 'fast',
      tools: [{ name: 'terminal' }],
      enable_sub_agents: true,
      system_message_suffix: 'Explain each step.',
      mcp_server_refs: null,
    })
    await button(page, 'Edit careful').click()
    await page.getByLabel('Name').fill('default')
    await button(page, 'Save').click()
    await page.getByText(/already exists/).waitFor()
    await page.getByLabel('Name').fill('thorough')
    await page.getByRole('radio', { name: /^Standard tools/ }).check()
    await button(page, 'Save').click()
    await page.getByText('thorough is saved').waitFor()
    await choose('Actions of thorough', 'Duplicate')
    expect(await page.getByLabel('Name').inputValue()).toBe('thorough-copy')
    await button(page, 'Save').click()
    await page.getByText('thorough-copy is saved').waitFor()
    await choose('Actions of thorough', 'Make default')
    await page.getByText('thorough is the default').waitFor()
    await tab.shot('agents')
    const { profiles, active_agent_profile_id } = await read('/api/agent-profiles')
    expect(profiles.map(({ name }: any) => name)).toEqual(['default', 'thorough', 'thorough-copy'])
    expect(profiles[1].id).toBe(active_agent_profile_id)
    await page.goto('/new?where=directory')
    await expect.poll(() => page.getByLabel('Agent', { exact: true }).inputValue()).toBe(active_agent_profile_id)
    await page.goto('/settings/agents')
    await choose('Actions of thorough-copy', 'Delete')
    await button(page, 'Delete').click()
    await page.getByText('thorough-copy is deleted').waitFor()
    await page.getByRole('listitem').filter({ hasText: 'thorough-copy' }).waitFor({ state: 'detached' })
  })

  test('an external agent has a command, and a profile that cannot start says what it lacks', async () => {
    const lost = { agent_kind: 'openhands', llm_profile_ref: 'lost' }
    await site.server.call('POST', '/api/agent-profiles/lost', lost)
    await using tab = await site.open('/settings/agents?edit=lost', { width: 390, height: 844, colors: 'dark' })
    const { page } = tab
    await page.getByRole('option', { name: 'lost (does not exist)' }).waitFor({ state: 'attached' })
    await button(page, 'Save').click()
    await page.getByText(/lost is saved and cannot start yet: .*'lost' not found/).waitFor()
    await tab.shot('agents-phone-dark')
    await page.goto('/settings/agents?new=acp')
    await page.getByLabel('Name').fill('mine')
    await page.getByLabel('Agent', { exact: true }).selectOption('custom')
    await button(page, 'Save').click()
    await page.getByText('Enter the command.').waitFor()
    await tab.shot('agent-acp-phone-dark')
    await page.getByLabel('Command').fill('my-agent --acp')
    await button(page, 'Save').click()
    await page.getByText('mine is saved').waitFor()
    expect((await read('/api/agent-profiles/mine')).profile).toMatchObject({
      agent_kind: 'acp',
      acp_server: 'custom',
      acp_command: 'my-agent --acp',
    })
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
