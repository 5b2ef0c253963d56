/** The commands of a conversation, and those of the person, in a real browser. */
import { appendFileSync, existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { until } from '../../packages/server/testing/until.ts'
import { axeViolations } from './axe.ts'
import { CHROMIUM, openSite, SCENARIO_MS, type Site } from './harness.ts'
import { say, startConversation, startTalk, type Talk } from './talk.ts'

const POLL = { timeout: 20_000 }

describe.skipIf(CHROMIUM === undefined)('the terminal of a conversation', { timeout: SCENARIO_MS }, () => {
  let site: Site
  let talk: Talk
  beforeAll(async () => {
    ;[site, talk] = await Promise.all([openSite(), startTalk()])
  }, SCENARIO_MS)
  afterAll(async () => {
    await site[Symbol.asyncDispose]()
    await talk[Symbol.asyncDispose]()
  })

  /** A conversation whose agent runs these commands one after the other. */
  const after = async (...commands: string[]) => {
    talk.answers = (_, { assistantTurns }) => {
      const command = commands[assistantTurns]
      return command === undefined ? { text: 'Done.' } : { toolCalls: [{ name: 'terminal', arguments: { command } }] }
    }
    const id = await startConversation(site.server, talk)
    await say(site.server, id, 'Work', 'finished')
    return id
  }
  const output = (page: Page) => page.getByRole('region', { name: 'Commands and their output' })
  const runOwn = async (page: Page, command: string) => {
    const field = page.getByRole('textbox', { name: 'Your command' })
    await field.fill(command)
    await field.press('Enter')
  }

  test('the commands of the agent are shown with their output, from the end, and lines of it are found', async () => {
    const id = await after('echo first', 'seq -f "line number %g" 1 300', 'ls /no-such-place')
    await using tab = await site.open(`/c/${id}?panel=terminal`)
    const { page } = tab
    await output(page).getByText('first', { exact: true }).waitFor()
    await output(page).getByText('exit 2').waitFor()
    // It opens at its end.
    await expect
      .poll(() => output(page).evaluate((each) => each.scrollHeight - each.scrollTop - each.clientHeight), POLL)
      .toBeLessThanOrEqual(1)
    await tab.shot('terminal')
    // Line 17 is not among those that are shown of a long output.
    await page.getByRole('searchbox', { name: 'Find in the output' }).fill('NUMBER 17')
    await output(page).getByText('11 lines').waitFor()
    expect(await output(page).locator('mark').allInnerTexts()).toEqual(Array.from({ length: 11 }, () => 'number 17'))
    await tab.shot('terminal-find')
    await page.getByRole('searchbox', { name: 'Find in the output' }).fill('nothing like that')
    await output(page).getByText('No line contains this text.').waitFor()
  })

  test('a command of the person runs in the workspace, is kept after a reload, and is not part of the log', async () => {
    const id = await after('echo from the agent')
    writeFileSync(join(talk.directory, 'note.txt'), 'a note\n')
    await using tab = await site.open(`/c/${id}?panel=terminal`)
    const { page } = tab
    await runOwn(page, String.raw`cat note.txt; printf '\033[31mred alert\033[0m\n'; exit 3`)
    await output(page).getByText('a note', { exact: true }).waitFor()
    await output(page).locator('.ansi-fg-red', { hasText: 'red alert' }).waitFor()
    await output(page).getByText('exit 3', { exact: true }).waitFor()
    const { body } = await site.server.call('GET', `/api/conversations/${id}/events/find?q=note.txt`)
    expect(body).toEqual([])
    await page.reload()
    await output(page).getByText('a note', { exact: true }).waitFor()
    const blocks = (await output(page).locator('.terminal-block').allInnerTexts()).map((text) => text.split('\n')[0])
    expect(blocks).toEqual(['Agent', 'You'])
    const field = page.getByRole('textbox', { name: 'Your command' })
    await field.press('ArrowUp')
    expect(await field.inputValue()).toMatch(/^cat note\.txt; .* exit 3$/)
    await tab.shot('terminal-own')
  })

  test('a command of the person that runs is shown as such, and its end appears by itself', async () => {
    const id = await after('true')
    const gate = join(talk.directory, 'gate')
    await using tab = await site.open(`/c/${id}?panel=terminal`)
    const { page } = tab
    await runOwn(page, `echo begun > begun.txt; while [ ! -e gate ]; do sleep 0.05; done; echo over`)
    await until(() => existsSync(join(talk.directory, 'begun.txt')))
    await output(page).getByText('running').waitFor()
    appendFileSync(gate, '')
    await output(page).getByText('over', { exact: true }).waitFor()
    await expect.poll(() => output(page).getByText('running').count(), POLL).toBe(0)
  })

  test('a command of the agent that runs shows its output as it comes, and the end stays in view', async () => {
    const gate = join(talk.directory, 'second-gate')
    const id = await startConversation(site.server, talk)
    talk.answers = (_, { assistantTurns }) =>
      assistantTurns === 0
        ? {
            toolCalls: [
              {
                name: 'terminal',
                arguments: {
                  command: `seq -f "step %g" 1 100; while [ ! -e ${gate} ]; do sleep 0.05; done; echo over`,
                },
              },
            ],
          }
        : { text: 'Done.' }
    await using tab = await site.open(`/c/${id}?panel=terminal`)
    const { page } = tab
    await page.getByText('No command has run yet').waitFor()
    await site.server.call('POST', `/api/conversations/${id}/events`, {
      content: [{ type: 'text', text: 'Work' }],
      run: true,
    })
    await output(page).getByText('step 100', { exact: true }).waitFor()
    await expect
      .poll(() => output(page).evaluate((each) => each.scrollHeight - each.scrollTop - each.clientHeight), POLL)
      .toBeLessThanOrEqual(1)
    writeFileSync(gate, '')
    await output(page).getByText('over', { exact: true }).waitFor()
  })

  test('a long history is loaded in pieces', async () => {
    const id = await after(...Array.from({ length: 34 }, (_, index) => `echo command ${index + 1}`))
    await using tab = await site.open(`/c/${id}?panel=terminal`)
    const { page } = tab
    const blocks = output(page).locator('.terminal-block:not(:has(.terminal-you))')
    await expect.poll(() => blocks.count(), POLL).toBe(30)
    await page.getByRole('button', { name: 'Show 4 earlier commands' }).click()
    await expect.poll(() => blocks.count(), POLL).toBe(34)
    await output(page).getByText('command 1', { exact: true }).waitFor()
  })

  test('the checker finds nothing wrong with the terminal in any colours, nor on a phone', async () => {
    const id = await after('ls -a; echo done')
    for (const colors of ['light', 'dark', 'forced'] as const) {
      await using tab = await site.open(`/c/${id}?panel=terminal`, { colors })
      await output(tab.page).getByText('done', { exact: true }).waitFor()
      if (colors === 'dark') await tab.shot('terminal-dark')
      expect([colors, await axeViolations(tab.page)]).toEqual([colors, []])
    }
    await using phone = await site.open(`/c/${id}?panel=terminal`, { width: 390, height: 844, isTouch: true })
    await output(phone.page).getByText('done', { exact: true }).waitFor()
    await phone.shot('terminal-phone')
    expect(await axeViolations(phone.page)).toEqual([])
  })
})
