/** The output of a command that runs, in a real browser. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { until } from '../../packages/server/testing/until.ts'
import { axeViolations } from './axe.ts'
import { CHROMIUM, openSite, SCENARIO_MS, type Site } from './harness.ts'
import { openMortal } from './mortal.ts'
import { startConversation, startTalk, type Talk, write } from './talk.ts'

describe.skipIf(CHROMIUM === undefined)('live output', { timeout: SCENARIO_MS }, () => {
  let site: Site
  let talk: Talk
  let scenarios = 0
  beforeAll(async () => {
    talk = await startTalk()
    site = await openSite()
  }, SCENARIO_MS)
  afterAll(async () => {
    await site[Symbol.asyncDispose]()
    await talk[Symbol.asyncDispose]()
  })

  /** The agent runs a command that writes one part of its output after another: each time when `go` is called. */
  function commandOf(parts: readonly string[]) {
    const name = `part-${++scenarios}`
    const waits = parts.slice(1).map((part, at) => `until [ -e ${name}.${at} ]; do sleep 0.05; done; ${part}`)
    const command = [parts[0], ...waits].join('\n')
    talk.answers = (text, { assistantTurns }) => {
      if (text.trim() !== 'Run it') return { text: 'A title' }
      return assistantTurns === 0
        ? { toolCalls: [{ name: 'terminal', arguments: { command } }] }
        : { text: 'The command has ended.' }
    }
    return { go: (at: number) => writeFile(join(talk.directory, `${name}.${at}`), '') }
  }
  const output = (page: Page) => page.locator('.tool-terminal .output pre')
  const lines = async (page: Page) => ((await output(page).textContent()) ?? '').trimEnd().split('\n')

  test('a running command shows its output as it comes, and its result in the same element', async () => {
    const { go } = commandOf(['echo first', 'echo second', 'seq 1 100', 'echo last'])
    const id = await startConversation(site.server, talk)
    await using tab = await site.open(`/c/${id}`)
    const { page } = tab
    await write(page, 'Run it')
    await output(page).getByText('first').waitFor()
    const element = await output(page).elementHandle()
    await go(0)
    await output(page).getByText('second').waitFor()
    expect(await lines(page)).toEqual(['first', 'second'])
    await go(1)
    await until(async () => (await lines(page)).at(-1) === '100')
    // A row that opened by itself has a few lines, and the others on demand.
    expect(await lines(page)).toHaveLength(12)
    await page.getByRole('button', { name: 'Show 90 earlier lines' }).waitFor()
    await tab.shot('live-output')
    expect(await axeViolations(page)).toEqual([])
    await go(2)
    await page.getByText('The command has ended.').waitFor()
    await page.locator('.tool .running').waitFor({ state: 'detached' })
    expect(await element!.evaluate((pre) => pre.isConnected)).toBe(true)
    expect((await lines(page)).slice(-2)).toEqual(['100', 'last'])
    expect(await lines(page)).toHaveLength(12)
  })

  test('the row of a short command stays closed, and a row that a person closed is not opened again', async () => {
    const { go } = commandOf(['echo first', 'echo second'])
    const id = await startConversation(site.server, talk)
    await using tab = await site.open(`/c/${id}`)
    const { page } = tab
    await write(page, 'Run it')
    await output(page).getByText('first').waitFor()
    await page.locator('.tool-line').click()
    await output(page).waitFor({ state: 'detached' })
    await go(0)
    await page.getByText('The command has ended.').waitFor()
    expect(await output(page).count()).toBe(0)
    commandOf(['echo short'])
    const other = await startConversation(site.server, talk)
    await page.goto(`/c/${other}`)
    await write(page, 'Run it')
    await page.getByText('The command has ended.').waitFor()
    expect(await output(page).count()).toBe(0)
  })

  test('a page that is loaded again in the middle of an output shows each line once', async () => {
    const { go } = commandOf(['echo first; echo second', 'echo third', 'echo fourth'])
    const id = await startConversation(site.server, talk)
    await using tab = await site.open(`/c/${id}`)
    const { page } = tab
    await write(page, 'Run it')
    await output(page).getByText('second').waitFor()
    await page.reload()
    await output(page).getByText('second').waitFor()
    await go(0)
    await output(page).getByText('third').waitFor()
    expect(await lines(page)).toEqual(['first', 'second', 'third'])
    await go(1)
    await page.getByText('The command has ended.').waitFor()
    expect(await lines(page)).toEqual(['first', 'second', 'third', 'fourth'])
  })

  test('after the server was killed, the output of the command continues without a line twice', async () => {
    const { go } = commandOf(['echo first', 'echo second', 'echo third'])
    await using mortal = await openMortal(site, 'killed-while-writing')
    const { page } = mortal
    const id = await startConversation(mortal.server, talk)
    await page.goto(`${mortal.server.url}/c/${id}`)
    await write(page, 'Run it')
    await output(page).getByText('first').waitFor()
    await mortal.kill()
    await page.getByText('The connection to the server is lost.').waitFor()
    expect(await lines(page)).toEqual(['first'])
    await go(0)
    await mortal.restart()
    await output(page).getByText('second').waitFor()
    expect(await lines(page)).toEqual(['first', 'second'])
    await go(1)
    await page.getByText('The command has ended.').waitFor()
    expect(await lines(page)).toEqual(['first', 'second', 'third'])
  })
})
