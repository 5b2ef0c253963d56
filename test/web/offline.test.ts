/** A message that is written while the server is away, in a real browser. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { until } from '../../packages/server/testing/until.ts'
import { CHROMIUM, openSite, SCENARIO_MS, type Site } from './harness.ts'
import { openMortal } from './mortal.ts'
import { shownSeqs, startConversation, startTalk, type Talk, write } from './talk.ts'

describe.skipIf(CHROMIUM === undefined)('a server that is away', { timeout: 2 * SCENARIO_MS }, () => {
  let site: Site
  let talk: Talk
  beforeAll(async () => {
    ;[site, talk] = await Promise.all([openSite(), startTalk()])
  }, SCENARIO_MS)
  afterAll(async () => {
    await site[Symbol.asyncDispose]()
    await talk[Symbol.asyncDispose]()
  })

  test('a message that is written meanwhile waits in its row through many attempts to connect, and is sent once', async () => {
    talk.answers = (text) => ({ text: `Answer to ${text.trim()}` })
    await using mortal = await openMortal(site, 'away')
    const { page } = mortal
    const id = await startConversation(mortal.server, talk)
    let attempts = 0
    page.on('websocket', () => void attempts++)
    await page.goto(`${mortal.server.url}/c/${id}`)
    await write(page, 'Before')
    await page.getByText('Answer to Before').waitFor()
    await mortal.kill()
    await page.getByText('The connection to the server is lost.').waitFor()
    await write(page, 'Meanwhile')
    await page.locator('.message.pending').getByText('Is sent when the connection is back').waitFor()
    // The waits between attempts have grown to five seconds: the server has been away for about twenty.
    await until(() => attempts > 10, SCENARIO_MS)
    await page.locator('.message.pending').getByText('Meanwhile').waitFor()
    await mortal.restart()
    await page.locator('.message.agent').getByText('Answer to Meanwhile').waitFor()
    await page.locator('.message.pending').waitFor({ state: 'detached' })
    expect(await page.getByText('Meanwhile', { exact: true }).count()).toBe(1)
    const { body } = await mortal.server.call(
      'GET',
      `/api/conversations/${id}/events/search?source=user&kind=MessageEvent`,
    )
    expect(body.items.map((event: any) => event.llm_message.content[0].text)).toEqual(['Before', 'Meanwhile'])
    const seqs = await shownSeqs(page)
    expect(new Set(seqs).size).toBe(seqs.length)
  })
})
