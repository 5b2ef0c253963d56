/** Messages, streaming and lost connections in a real browser. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { until } from '../../packages/server/testing/until.ts'
import { axeViolations } from './axe.ts'
import { CHROMIUM, openSite, SCENARIO_MS, type Site } from './harness.ts'
import { openMortal } from './mortal.ts'
import { agentTexts, say, shownSeqs, startConversation, startTalk, type Talk, write } from './talk.ts'

const LONG = Array.from({ length: 12 }, (_, index) => `Paragraph ${index} has **bold** words and \`code\`.`).join(
  '\n\n',
)
const HOSTILE = [
  '<img src="https://tracker.example/a.png" onerror="window.ran = 1"><script>window.ran = 1</script>',
  '![x](https://tracker.example/b.png) [run](javascript:window.ran=1) [https://bank.example](https://evil.example)',
  '<iframe src="https://tracker.example"></iframe>',
  '```html\n<script>window.ran = 1</script>\n```',
  '| <svg onload=window.ran=1> | b |\n|---|---|\n| <b>c</b> | d |',
].join('\n\n')

describe.skipIf(CHROMIUM === undefined)('a conversation', { timeout: SCENARIO_MS }, () => {
  let site: Site
  let talk: Talk
  const start = (members = {}) => startConversation(site.server, talk, members)
  beforeAll(async () => {
    talk = await startTalk()
    site = await openSite()
  }, SCENARIO_MS)
  afterAll(async () => {
    await site[Symbol.asyncDispose]()
    await talk[Symbol.asyncDispose]()
  })

  test('a sent message is a row before the server has answered, and keeps its element', async () => {
    talk.answers = () => ({ text: 'Hello.' })
    const id = await start()
    await using tab = await site.open(`/c/${id}`)
    const { page } = tab
    const released = Promise.withResolvers<void>()
    await page.route('**/events', async (route) => {
      await released.promise
      await route.continue()
    })
    await write(page, 'First message')
    const pending = page.locator('.row', { has: page.locator('.message.pending') })
    await pending.waitFor()
    const row = await pending.elementHandle()
    released.resolve()
    await page.locator('.message.agent').getByText('Hello.').waitFor()
    await page.locator('.message.pending').waitFor({ state: 'detached' })
    const text = await row!.evaluate((element) => (element.isConnected ? element.textContent : 'detached'))
    expect(text).toContain('First message')
    expect(await page.getByText('First message').count()).toBe(1)
    await tab.shot('conversation-sent')
  })

  test('the text returns to the field when the server refuses the message', async () => {
    const id = await start()
    await using tab = await site.open(`/c/${id}`)
    const { page } = tab
    tab.allow(/422/)
    await page.route('**/events', (route) => route.fulfill({ status: 422, json: { detail: 'It is too long.' } }))
    await write(page, 'Refused message')
    await page.getByRole('alert').filter({ hasText: 'It is too long.' }).waitFor()
    expect(await page.getByRole('textbox', { name: 'Message' }).inputValue()).toBe('Refused message')
    await page.reload()
    expect(await page.getByRole('textbox', { name: 'Message' }).inputValue()).toBe('Refused message')
  })

  test('a streamed answer grows to the stored message in one element', async () => {
    talk.answers = () => ({ text: LONG, chunkDelayMs: 10, chunkSize: 20 })
    const id = await start()
    await using tab = await site.open(`/c/${id}`)
    const { page } = tab
    await write(page, 'Tell me')
    const streaming = page.locator('.row', { has: page.locator('.message.streaming') })
    await streaming.getByText('Paragraph 2').waitFor()
    const row = (await streaming.elementHandle())!
    const half = await row.evaluate((element) => element.querySelector('.markdown')?.textContent ?? '')
    await page.locator('.message.streaming').waitFor({ state: 'detached' })
    const whole = await row.evaluate((element) => element.querySelector('.markdown')?.textContent ?? 'detached')
    expect(await agentTexts(site.server, id)).toEqual([LONG])
    expect(whole).toBe(LONG.replaceAll(/\*\*|`|\n\n/g, ''))
    expect(half.length).toBeGreaterThan(20)
    expect(whole.startsWith(half.slice(0, -20))).toBe(true)
  })

  test('a page that is loaded again in the middle of an answer shows it once and whole', async () => {
    talk.answers = () => ({ text: LONG, chunkDelayMs: 20, chunkSize: 12 })
    const id = await start()
    await using tab = await site.open(`/c/${id}`)
    const { page } = tab
    await write(page, 'Tell me')
    await page.locator('.message.streaming').getByText('Paragraph 1').waitFor()
    await page.reload()
    await page.locator('.message.agent:not(.streaming)').getByText('Paragraph 11').waitFor()
    await page.locator('.message.streaming').waitFor({ state: 'detached' })
    expect(await page.getByText('Paragraph 11 has').count()).toBe(1)
    const seqs = await shownSeqs(page)
    expect(new Set(seqs).size).toBe(seqs.length)
  })

  test('hostile Markdown runs nothing and requests nothing', async () => {
    talk.answers = () => ({ text: HOSTILE, chunkDelayMs: 5 })
    const id = await start()
    await using tab = await site.open(`/c/${id}`)
    const { page } = tab
    await write(page, 'Be hostile')
    const message = page.locator('.message.agent:not(.streaming)')
    await message.getByText('leads to evil.example').waitFor()
    expect(await page.evaluate('window.ran')).toBeUndefined()
    const tags = await message.evaluate((element) => [
      ...new Set([...element.querySelectorAll('*')].map(({ localName }) => localName)),
    ])
    for (const tag of ['script', 'iframe', 'img', 'b']) expect(tags).not.toContain(tag)
    const links = await message.locator('a').evaluateAll((all) => all.map((link) => link.getAttribute('href')))
    expect(links).toEqual(['https://tracker.example/b.png', 'https://evil.example/'])
    await tab.shot('conversation-hostile')
  })

  test('the server is killed during an answer: the page says so, and the run continues without a row twice', async () => {
    const hung = Promise.withResolvers<void>()
    let asked = 0
    talk.answers = async (text) => {
      // The title is another request.
      if (text.trim() !== 'Begin') return { text: 'A title' }
      asked++
      // The first attempt never ends, so that the server is killed while it streams.
      if (asked === 1) return { text: LONG, hang: 'body', chunkSize: 20 }
      await hung.promise
      return { text: 'Recovered.' }
    }
    await using mortal = await openMortal(site, 'killed')
    const { page } = mortal
    const id = await startConversation(mortal.server, talk)
    await page.goto(`${mortal.server.url}/c/${id}`)
    await write(page, 'Begin')
    await page.locator('.message.streaming').getByText('Paragraph 1').waitFor()
    await mortal.kill()
    await page.getByText('The connection to the server is lost.').waitFor()
    expect(await page.locator('.message.streaming.broken').count()).toBe(1)
    await mortal.restart()
    await page.getByText('The connection to the server is lost.').waitFor({ state: 'detached' })
    hung.resolve()
    await until(async () => (await mortal.server.call('GET', `/api/conversations/${id}`)).status === 200)
    if ((await mortal.server.call('GET', `/api/conversations/${id}`)).body.execution_status !== 'finished')
      await mortal.server.call('POST', `/api/conversations/${id}/run`, {})
    await page.locator('.message.agent').getByText('Recovered.').waitFor()
    expect(await page.getByText('Begin', { exact: true }).count()).toBe(1)
    const seqs = await shownSeqs(page)
    expect(new Set(seqs).size).toBe(seqs.length)
  })

  for (const colors of ['light', 'dark', 'forced'] as const)
    test(`the checker finds nothing wrong with a conversation in ${colors} colours`, async () => {
      talk.answers = (_, { assistantTurns }) =>
        assistantTurns === 0
          ? { text: 'I look.', toolCalls: [{ name: 'terminal', arguments: { command: 'ls; false' } }] }
          : { text: LONG, reasoning: 'Two lines\nof reasoning' }
      const id = await start()
      await say(site.server, id, 'Do it', 'finished')
      await using tab = await site.open(`/c/${id}`, { colors })
      await tab.page.locator('.tool-line').click()
      await tab.page.locator('.tool-body').waitFor()
      await tab.shot(`conversation-${colors}`)
      expect(await axeViolations(tab.page)).toEqual([])
    })
})
