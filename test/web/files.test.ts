/** The files of a workspace in a real browser. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { axeViolations } from './axe.ts'
import { CHROMIUM, openSite, SCENARIO_MS, type Site } from './harness.ts'
import { say, startConversation, startTalk, type Talk } from './talk.ts'

const POLL = { timeout: 20_000 }
const LINES = Array.from({ length: 30_000 }, (_, index) => `line ${index + 1}`).join('\n')
const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
/** It would report that it ran, and read what the page may read. */
const SCRIPT = `parent.document.title = 'ran'; fetch('/api/secrets')`
const REORDERED = 'photo_\u202egnp.sh'

describe.skipIf(CHROMIUM === undefined)('the files of a workspace', { timeout: SCENARIO_MS }, () => {
  let site: Site
  let talk: Talk
  let id: string
  beforeAll(async () => {
    ;[site, talk] = await Promise.all([openSite(), startTalk()])
    const write = (path: string, content: string | Uint8Array) => {
      mkdirSync(join(talk.directory, path, '..'), { recursive: true })
      writeFileSync(join(talk.directory, path), content)
    }
    write('src/retry/policy.ts', 'export const attempts = 3\nexport const waitMs = 500\n')
    write('src/app.ts', "import { attempts } from './retry/policy.ts'\n")
    write('README.md', '# Retries\n')
    write('long.txt', LINES)
    write('data.bin', Buffer.from([0, 1, 2, 3]))
    write('pixel.png', PIXEL)
    write('page.html', `<h1>Page</h1><script>${SCRIPT}</script>`)
    write(
      'drawing.svg',
      `<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40"><rect width="40" height="40" fill="teal"/><script>${SCRIPT}</script></svg>`,
    )
    write(REORDERED, 'echo')
    write('empty.txt', '')
    symlinkSync('/etc', join(talk.directory, 'system'))
    id = await startConversation(site.server, talk)
  }, SCENARIO_MS)
  afterAll(async () => {
    await site[Symbol.asyncDispose]()
    await talk[Symbol.asyncDispose]()
  })

  const list = (page: Page) => page.getByRole('list', { name: /^Files / })
  const open = (page: Page, path: string) => page.goto(`/c/${id}?panel=files&file=${encodeURIComponent(path)}`)
  const content = (page: Page) => page.locator('.files-text')

  test('directories and files are opened by keyboard alone, and the address has the place', async () => {
    await using tab = await site.open(`/c/${id}?panel=files`)
    const { page } = tab
    await list(page).getByRole('button').first().focus()
    await tab.shot('files')
    await page.keyboard.press('Enter')
    await list(page).getByText('app.ts').waitFor()
    await list(page).getByRole('button').first().focus()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await content(page).getByText("import { attempts } from './retry/policy.ts'").waitFor()
    expect(new URL(page.url()).searchParams.get('file')).toBe('src/app.ts')
    await tab.shot('files-text')
    await page.reload()
    await content(page).waitFor()
    await page.getByRole('navigation', { name: 'Place in the workspace' }).getByRole('button', { name: 'src' }).click()
    await list(page).getByRole('button').first().focus()
    await page.keyboard.press('ArrowLeft')
    await list(page).getByText('README.md').waitFor()
  })

  test('a file is opened by a part of its name', async () => {
    await using tab = await site.open(`/c/${id}?panel=files`)
    const { page } = tab
    const field = page.getByRole('combobox', { name: 'Go to a file' })
    await field.fill('poli')
    const option = page.getByRole('option', { name: /policy\.ts/ })
    await option.waitFor()
    await tab.shot('files-find')
    expect(await axeViolations(page)).toEqual([])
    await field.press('Enter')
    await content(page).getByText('export const waitMs = 500').waitFor()
    await field.fill('no-such-file')
    await page.getByText('No file is named “no-such-file”.').waitFor()
  })

  test('a long file is read part by part, with the numbers of its lines', async () => {
    await using tab = await site.open('/')
    const { page } = tab
    await open(page, 'long.txt')
    await content(page).waitFor()
    const lines = async () => (await content(page).locator('pre:not([aria-hidden])').allInnerTexts()).join('\n')
    const numbers = async () => (await content(page).locator('pre[aria-hidden]').allInnerTexts()).join('\n')
    const more = page.getByRole('button', { name: 'Show more of this file' })
    expect((await lines()).length).toBeLessThan(LINES.length)
    for (let parts = 1; await more.isVisible(); parts++) {
      await more.click()
      await expect.poll(() => content(page).locator('.files-part').count(), POLL).toBe(parts + 1)
    }
    expect((await lines()) === LINES).toBe(true)
    expect((await numbers()).split('\n').at(-1)).toBe('30000')
    expect(await page.locator('.files-text *').count()).toBeLessThan(50)
  })

  test('an image is shown, and other bytes are a download', async () => {
    await using tab = await site.open('/')
    const { page } = tab
    await open(page, 'pixel.png')
    const image = page.getByRole('img', { name: 'Image pixel.png' })
    await expect.poll(() => image.evaluate((element) => (element as any).naturalWidth), POLL).toBe(1)
    await open(page, 'data.bin')
    await page.getByText('This file is not text.').waitFor()
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download' }).click(),
    ])
    expect(saved.suggestedFilename()).toBe('data.bin')
    expect(await readFile(await saved.path())).toEqual(Buffer.from([0, 1, 2, 3]))
  })

  test('a page and an image with a script are shown without running it, and the server never sends them as a page', async () => {
    await using tab = await site.open('/')
    const { page } = tab
    const requests: string[] = []
    page.on('request', (request) => requests.push(request.url()))
    await open(page, 'page.html')
    await content(page).getByText(SCRIPT).waitFor()
    await open(page, 'drawing.svg')
    const image = page.getByRole('img', { name: 'Image drawing.svg' })
    await expect.poll(() => image.evaluate((element) => (element as any).naturalWidth), POLL).toBe(40)
    expect(await page.title()).not.toBe('ran')
    expect(requests.filter((url) => url.includes('/api/secrets'))).toEqual([])
    expect(await page.locator('iframe').count()).toBe(0)
    const key = await page.evaluate<string>('JSON.stringify(sessionStorage)')
    expect(key.length).toBeGreaterThan(2)
    const file = await site.server.call('GET', `/api/conversations/${id}/files/content?path=page.html`)
    expect([file.status, file.body]).toEqual([200, expect.stringContaining('<h1>')])
  })

  test('a name that would be shown in another order says so, and a link out of the workspace does not open', async () => {
    await using tab = await site.open(`/c/${id}?panel=files`)
    const { page } = tab
    await list(page).locator('.special').waitFor()
    expect(
      await list(page)
        .getByRole('button', { name: /system/ })
        .isDisabled(),
    ).toBe(true)
    tab.allow(/status of 400/)
    await open(page, 'system/passwd')
    await page.getByText('Path is outside the workspace').waitFor()
  })

  test('what the agent writes appears', async () => {
    await using tab = await site.open(`/c/${id}?panel=files`)
    const { page } = tab
    await list(page).getByText('README.md').waitFor()
    const path = join(talk.directory, 'written.txt')
    talk.answers = (_, { assistantTurns }) =>
      assistantTurns === 0
        ? { toolCalls: [{ name: 'file_editor', arguments: { command: 'create', path, file_text: 'by the agent\n' } }] }
        : { text: 'Written.' }
    await say(site.server, id, 'Write a file', 'finished')
    await list(page).getByText('written.txt').waitFor()
  })

  test('the checker finds nothing wrong with files in any colours, nor on a phone', async () => {
    for (const colors of ['light', 'dark', 'forced'] as const) {
      await using tab = await site.open(`/c/${id}?panel=files`, { colors })
      await list(tab.page).waitFor()
      expect([colors, await axeViolations(tab.page)]).toEqual([colors, []])
      await open(tab.page, 'src/retry/policy.ts')
      await content(tab.page).waitFor()
      if (colors === 'dark') await tab.shot('files-text-dark')
      expect([colors, await axeViolations(tab.page)]).toEqual([colors, []])
    }
    await using phone = await site.open(`/c/${id}?panel=files&file=src%2F`, { width: 390, height: 844, isTouch: true })
    await list(phone.page).waitFor()
    await phone.shot('files-phone')
    expect(await axeViolations(phone.page)).toEqual([])
  })
})
