/** Sub-agents in a real browser: what they do, and an approval of one from everywhere where it is asked. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { start } from '../../packages/server/testing/conversations.ts'
import type { ScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { finish, parent, run, startScripts, task } from '../../packages/server/testing/sub-agent-scripts.ts'
import { axeViolations } from './axe.ts'
import { CHROMIUM, openSite, SCENARIO_MS, type Site, type Tab } from './harness.ts'

const POLL = { timeout: 20_000 }
const TASK = '[child] Look for the configuration of the retries'

describe.skipIf(CHROMIUM === undefined)('sub-agents', { timeout: SCENARIO_MS }, () => {
  let site: Site
  let model: ScriptedModel
  beforeAll(async () => {
    ;[site, model] = await Promise.all([
      openSite(),
      startScripts({
        parent: [task(TASK, { description: 'Find the retries' }), finish('done')],
        child: [run('echo from the sub-agent'), finish('It is in config.yaml')],
      }),
    ])
  }, SCENARIO_MS)
  afterAll(async () => {
    await site[Symbol.asyncDispose]()
    await model[Symbol.asyncDispose]()
  })

  const started = (members: object = {}) => start(site.server, parent(model, site.server.dir.file('work'), members))
  const asking = async () => {
    const it = await started({ confirmation_policy: { kind: 'AlwaysConfirm' } })
    await it.is('waiting_for_confirmation')
    // The call that begins the task is asked about first.
    await it.post('events/respond_to_confirmation', { accept: true })
    await expect
      .poll(async () => {
        const { body } = await site.server.call('GET', '/api/approvals')
        return body.approvals.filter((each: any) => each.root_conversation_id === it.id && each.sub_agent_of !== null)
      }, POLL)
      .toHaveLength(1)
    return it
  }
  const childOf = async (id: string): Promise<string> =>
    (await site.server.call('GET', `/api/conversations/${id}`)).body.sub_conversation_ids[0]
  const results = async (child: string) => {
    const { body } = await site.server.call('GET', `/api/conversations/${child}/events/search?kind=ObservationEvent`)
    return JSON.stringify(body.items)
  }
  /** Approves what the page asks, until the command of the sub-agent has run. */
  const approve = async ({ page }: Tab, child: string) => {
    const card = page.locator('section.approval')
    await card.getByRole('region', { name: 'What will be executed' }).getByText('echo from the sub-agent').waitFor()
    const button = card.getByRole('button', { name: 'Approve', exact: true })
    await expect
      .poll(async () => {
        // Once it counts, the card disappears, with the button.
        if ((await results(child)) === '[]') await button.click({ timeout: 1_000 }).catch(() => undefined)
        return await results(child)
      }, POLL)
      .toContain('from the sub-agent')
  }

  test('the tab lists sub-agents with their task, state and cost, and leads to them', async () => {
    const it = await started()
    await it.is('finished')
    await using tab = await site.open(`/c/${it.id}?panel=agents`)
    const { page } = tab
    const agent = page.getByRole('list', { name: 'Sub-agents' }).getByRole('listitem')
    await agent.getByText('Find the retries').waitFor()
    await expect.poll(() => agent.innerText(), POLL).toContain('Finished')
    expect(await agent.innerText()).toContain('$0.02')
    await tab.shot('sub-agents')
    await agent.getByRole('link').click()
    await page.waitForURL(`**/c/${await childOf(it.id)}*`)
    await page.getByText('It is in config.yaml').first().waitFor()
  })

  test('an approval of a sub-agent is answered from its parent', async () => {
    const it = await asking()
    await using tab = await site.open(`/c/${it.id}?panel=agents`)
    const agent = tab.page.getByRole('list', { name: 'Sub-agents' }).getByRole('listitem')
    await agent.getByText('Waits for you').waitFor()
    await tab.shot('sub-agents-waiting')
    await approve(tab, await childOf(it.id))
  })

  test('an approval of a sub-agent is answered from its own page', async () => {
    const it = await asking()
    await using tab = await site.open(`/c/${it.id}?panel=agents`)
    await tab.page.getByRole('link', { name: 'Decide' }).click()
    const child = await childOf(it.id)
    await tab.page.waitForURL(`**/c/${child}*`)
    await approve(tab, child)
  })

  test('an approval of a sub-agent is found in the queue', async () => {
    const it = await asking()
    const child = await childOf(it.id)
    await using tab = await site.open('/approvals')
    const batch = tab.page.locator('.queue-batch').filter({ hasText: 'echo from the sub-agent' }).last()
    await batch.getByText('through').waitFor()
    await tab.page.locator(`a[href*="/c/${child}"]`).click()
    await tab.page.waitForURL(`**/c/${child}*`)
    await approve(tab, child)
  })

  test('a conversation without sub-agents says so', async () => {
    const agent = { kind: 'Agent', llm: { model: 'scripted/none' } }
    const workspace = { working_dir: site.server.dir.file('alone') }
    const { body } = await site.server.call('POST', '/api/conversations', { workspace, agent })
    await using tab = await site.open(`/c/${body.id}?panel=agents`)
    await tab.page.getByText('No sub-agents').waitFor()
  })

  test('the checker finds nothing wrong with sub-agents in any colours, nor on a phone', async () => {
    const it = await started()
    await it.is('finished')
    const list = ({ page }: Tab) => page.getByRole('list', { name: 'Sub-agents' }).waitFor()
    for (const colors of ['light', 'dark', 'forced'] as const) {
      await using tab = await site.open(`/c/${it.id}?panel=agents`, { colors })
      await list(tab)
      expect([colors, await axeViolations(tab.page)]).toEqual([colors, []])
    }
    await using phone = await site.open(`/c/${it.id}?panel=agents`, { width: 390, height: 844, isTouch: true })
    await list(phone)
    await phone.shot('sub-agents-phone')
    expect(await axeViolations(phone.page)).toEqual([])
  })
})
