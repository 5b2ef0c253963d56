/** Pages on another node than the owner of what they show, in a real browser. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Page } from 'playwright-core'
import { llmOf } from '../../packages/server/testing/conversations.ts'
import { programFolder } from '../../packages/server/testing/postgres-server.ts'
import { openDistant, type Distant } from './distant.ts'
import { CHROMIUM, openSite, SCENARIO_MS, type Site } from './harness.ts'
import { agentTexts, say, shownSeqs, startTalk, type Talk, write } from './talk.ts'

const LONG = Array.from({ length: 60 }, (_, index) => `Paragraph ${index} has several plain words.`).join('\n\n')

describe.skipIf(CHROMIUM === undefined || programFolder() === null)(
  'a page on another node than the owner',
  { timeout: 2 * SCENARIO_MS },
  () => {
    let site: Site
    let talk: Talk
    let distant: Distant
    beforeAll(async () => {
      ;[site, talk] = await Promise.all([openSite(), startTalk()])
      distant = await openDistant(site)
    }, 2 * SCENARIO_MS)
    afterAll(async () => {
      await distant[Symbol.asyncDispose]()
      await site[Symbol.asyncDispose]()
      await talk[Symbol.asyncDispose]()
    })
    const start = (members = {}) =>
      distant.start(
        { kind: 'Agent', llm: llmOf(talk.model, { stream: true, usage_id: 'agent' }), tools: [{ name: 'terminal' }] },
        members,
      )

    test('a page that is loaded again in the middle of an answer shows it once and whole from another node', async () => {
      talk.answers = () => ({ text: LONG, chunkDelayMs: 40, chunkSize: 12 })
      const { id } = await start()
      const node = await distant.elsewhere(id)
      const page = await distant.open(node, `/c/${id}`)
      await write(page, 'Tell me')
      await page.locator('.message.streaming').getByText('Paragraph 1 has').waitFor()
      await page.reload()
      // What the owner had streamed before the page was loaded is there too.
      await page.locator('.message.streaming').getByText('Paragraph 0 has').waitFor()
      await page.locator('.message.agent:not(.streaming)').getByText('Paragraph 59 has').waitFor()
      await page.locator('.message.streaming').waitFor({ state: 'detached' })
      expect(await agentTexts(node, id)).toEqual([LONG])
      for (const index of [0, 1, 59]) expect(await page.getByText(`Paragraph ${index} has`).count()).toBe(1)
      const seqs = await shownSeqs(page)
      expect(new Set(seqs).size).toBe(seqs.length)
      expect(await distant.elsewhere(id)).toBe(node)
    })

    test('an approval that is answered on the page of the owner is shown as such on the page of another node', async () => {
      talk.answers = (_, { assistantTurns }) =>
        assistantTurns === 0
          ? { toolCalls: [{ name: 'terminal', arguments: { command: 'echo approved' } }] }
          : { text: 'Understood.' }
      const { id, owner } = await start({ confirmation_policy: { kind: 'AlwaysConfirm' } })
      const node = await distant.elsewhere(id)
      await say(node, id, 'Do it', 'waiting_for_confirmation')
      const [far, near] = await Promise.all([distant.open(node, `/c/${id}`), distant.open(owner, `/c/${id}`)])
      const card = (page: Page) => page.locator('section.approval')
      await Promise.all([card(far).waitFor(), card(near).waitFor()])
      const decisions = async () => {
        const { body } = await node.call('GET', `/api/conversations/${id}/events/search`)
        return body.items.filter(({ key }: any) => key === 'approval').length
      }
      await expect
        .poll(
          async () => {
            const approve = near.getByRole('button', { name: 'Approve', exact: true })
            if (await approve.isVisible()) await approve.click()
            return await decisions()
          },
          { timeout: 20_000 },
        )
        .toBe(1)
      await far.locator('.answered').getByText('Approved elsewhere').waitFor()
      await card(far).waitFor({ state: 'detached' })
      await far.locator('.message.agent').getByText('Understood.').waitFor()
      expect(await near.locator('.answered').count()).toBe(0)
    })

    test('an answer whose owner is killed is marked as interrupted on another node, where the run continues without a row twice', async () => {
      const released = Promise.withResolvers<void>()
      let asked = 0
      talk.answers = async () => {
        asked++
        // The first attempt never ends, so that the owner is killed while it streams.
        if (asked === 1) return { text: LONG, hang: 'body', chunkSize: 20 }
        await released.promise
        return { text: 'Recovered.' }
      }
      const { id, owner } = await start()
      const node = await distant.elsewhere(id)
      const page = await distant.open(node, `/c/${id}`)
      await write(page, 'Begin')
      await page.locator('.message.streaming').getByText('Paragraph 1 has').waitFor()
      await owner.kill()
      await page.locator('.message.streaming.broken').waitFor()
      released.resolve()
      await page.locator('.message.agent').getByText('Recovered.').waitFor()
      await page.locator('.message.streaming').waitFor({ state: 'detached' })
      expect(await distant.fleet.ownerOf(id)).toBe(node)
      expect(await agentTexts(node, id)).toEqual(['Recovered.'])
      expect(await page.getByText('Begin', { exact: true }).count()).toBe(1)
      expect(await page.getByText('Recovered.', { exact: true }).count()).toBe(1)
      const seqs = await shownSeqs(page)
      expect(new Set(seqs).size).toBe(seqs.length)
    })
  },
)
