/** Reviewing the changes of a workspace in a real browser. */
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { git } from '../../packages/server/testing/two-user-server.ts'
import { until } from '../../packages/server/testing/until.ts'
import { axeViolations } from './axe.ts'
import { CHROMIUM, openSite, SCENARIO_MS, type Site } from './harness.ts'
import { say, startConversation, startTalk, type Talk } from './talk.ts'

const lines = (count: number, word: string) => Array.from({ length: count }, (_, at) => `${word} ${at + 1}\n`).join('')
const PARSER = `export function parse(line: string): string[] {
  // Cells are separated by commas.
  return line.split(',')
}
`
const FIXED = `export function parse(line: string, separator = ','): string[] {
  // Cells are separated by commas.
  if (line === '') return []
  return line.split(separator)
}
`

describe.skipIf(CHROMIUM === undefined)('the changes of a workspace', { timeout: SCENARIO_MS }, () => {
  let site: Site
  let talk: Talk
  let directory: string
  let id: string
  beforeAll(async () => {
    ;[site, talk] = await Promise.all([openSite(), startTalk()])
    directory = join(talk.directory, 'reviewed')
    mkdirSync(join(directory, 'src'), { recursive: true })
    const write = (name: string, content: string) => writeFileSync(join(directory, name), content)
    await git(directory, 'init', '-q')
    write('src/parser.ts', PARSER)
    write('src/report.ts', lines(40, '// line'))
    write('notes.md', lines(3, 'note'))
    write('large.txt', lines(5000, 'before'))
    write('logo.png', 'a\0b')
    await git(directory, 'add', '.')
    await git(directory, 'commit', '-qm', 'First')
    write('src/parser.ts', FIXED)
    renameSync(join(directory, 'src/report.ts'), join(directory, 'src/summary.ts'))
    rmSync(join(directory, 'notes.md'))
    write('large.txt', lines(5000, 'after'))
    write('logo.png', 'a\0c')
    write('added.ts', 'export const added = true\n')
    await git(directory, 'add', '-N', 'src')
    id = await startConversation(site.server, talk, workspaceOf(directory))
    await say(site.server, id, 'Fix the parser', 'finished')
  }, SCENARIO_MS)
  afterAll(async () => {
    await site[Symbol.asyncDispose]()
    await talk[Symbol.asyncDispose]()
  })

  const workspaceOf = (path: string) => ({ workspace: { kind: 'LocalWorkspace', working_dir: path } })
  const open = (look = {}) => site.open(`/c/${id}?panel=changes`, look)

  test('changed files are listed with their counts, and open to their lines in one column or in two', async () => {
    await using tab = await open()
    const { page } = tab
    const list = page.getByRole('region', { name: 'Changed files' })
    const parser = list.getByRole('button', { name: /src\/parser\.ts/ })
    await parser.waitFor()
    await page.getByText('6 files').waitFor()
    expect(await parser.textContent()).toMatch(/\+3−2/)
    await list.getByRole('button', { name: /notes\.md.*Deleted/ }).waitFor()
    await list.getByRole('button', { name: /summary\.ts.*Moved/ }).waitFor()
    await parser.click()
    await list.getByText("if (line === '') return []").waitFor()
    await tab.shot('changes-unified')
    await page.getByRole('combobox', { name: 'View' }).selectOption('Split')
    await list.locator('.changes-pair').first().waitFor()
    await tab.shot('changes-split')
    await list.getByRole('button', { name: /logo\.png/ }).click()
    await list.getByText('A binary file of 3 bytes is not shown.').waitFor()
    await list.getByRole('button', { name: /summary\.ts/ }).click()
    await list.getByText('The file was moved without a change of its text.').waitFor()
  })

  test('a file with 5,000 changed lines keeps a small page', async () => {
    await using tab = await open()
    const { page } = tab
    const list = page.getByRole('region', { name: 'Changed files' })
    await list.getByRole('button', { name: /large\.txt/ }).click()
    await list.getByText('before 1', { exact: true }).waitFor()
    await list.getByRole('button', { name: /large\.txt/ }).focus()
    await list.evaluate((element) => (element.scrollTop = element.scrollHeight / 2))
    await list
      .getByText('before 5000', { exact: true })
      .or(list.getByText('after 1', { exact: true }))
      .first()
      .waitFor()
    expect(await page.locator('*').count()).toBeLessThan(2500)
  })

  test('keys move between files and changes, and mark a file as viewed, which is kept', async () => {
    await using tab = await open()
    const { page } = tab
    const list = page.getByRole('region', { name: 'Changed files' })
    await list.getByRole('button', { name: /added\.ts/ }).waitFor()
    await list.focus()
    const focused = () => page.evaluate<string>('document.activeElement.closest("button")?.textContent ?? ""')
    await page.keyboard.press('j')
    await expect.poll(focused).toContain('added.ts')
    await page.keyboard.press('Enter')
    await list.getByText('export const added = true').waitFor()
    await page.keyboard.press('n')
    await expect.poll(() => page.evaluate<string>('document.activeElement.className')).toBe('number')
    await page.keyboard.press('k')
    await expect.poll(focused).toContain('added.ts')
    await page.keyboard.press('v')
    await page.getByText('1 of 6 viewed').waitFor()
    await list.getByText('export const added = true').waitFor({ state: 'detached' })
    await page.reload()
    await page.getByText('1 of 6 viewed').waitFor()
  })

  test('a comment on lines becomes a message to the agent with the path, the range and the text', async () => {
    await using tab = await open()
    const { page } = tab
    const list = page.getByRole('region', { name: 'Changed files' })
    await list.getByRole('button', { name: /src\/parser\.ts/ }).click()
    await list.getByRole('button', { name: 'Comment on line 3' }).last().click()
    await list
      .getByRole('button', { name: 'Comment on line 4' })
      .last()
      .click({ modifiers: ['Shift'] })
    await list.getByRole('textbox', { name: 'Comment on lines 3–4' }).fill('Trim the cells, too.')
    await tab.shot('changes-comment')
    await list.getByRole('button', { name: 'Send to the agent' }).click()
    await list.getByRole('textbox').waitFor({ state: 'detached' })
    const sent = async () => {
      const { body } = await site.server.call(
        'GET',
        `/api/conversations/${id}/events/search?kind=MessageEvent&source=user&sort_order=TIMESTAMP_DESC`,
      )
      return body.items[0].llm_message.content[0].text
    }
    await expect
      .poll(sent)
      .toBe(
        [
          'About lines 3–4 of `src/parser.ts`:',
          [">   if (line === '') return []", '>   return line.split(separator)'].join('\n'),
          'Trim the cells, too.',
        ].join('\n\n'),
      )
  })

  test('the list follows the agent without a request at rest', async () => {
    const edited = join(talk.directory, 'edited')
    mkdirSync(edited)
    await git(edited, 'init', '-q')
    const other = await startConversation(site.server, talk, workspaceOf(edited))
    await using tab = await site.open(`/c/${other}?panel=changes`)
    const { page } = tab
    await page.getByText('No changes').waitFor()
    talk.answers = (_text, view) =>
      view.assistantTurns % 2 === 0
        ? { toolCalls: [{ name: 'terminal', arguments: { command: 'printf "one\\ntwo\\n" > fresh.txt' } }] }
        : { text: 'Done.' }
    let requests = 0
    page.on('request', (request) => (requests += Number(request.url().includes('/api/git/changes'))))
    await say(site.server, other, 'Write a file', 'finished')
    await page.getByRole('button', { name: /fresh\.txt.*New/ }).waitFor()
    expect(requests).toBeLessThanOrEqual(2)
    talk.answers = () => ({ text: 'Hello.' })
  })

  test('a commit and a push are actions of the agent, which wait for the approval that the policy demands', async () => {
    const [work, remote] = [join(talk.directory, 'handed'), join(talk.directory, 'remote.git')]
    mkdirSync(work)
    await git(talk.directory, 'init', '-q', '--bare', 'remote.git')
    await git(work, 'init', '-q')
    await git(work, 'remote', 'add', 'origin', remote)
    writeFileSync(join(work, 'result.txt'), 'done\n')
    const other = await startConversation(site.server, talk, {
      ...workspaceOf(work),
      confirmation_policy: { kind: 'AlwaysConfirm' },
    })
    talk.answers = (text, view) => {
      const command = /```sh\n([^]*?)\n```/.exec(text)?.[1]
      return command === undefined || view.assistantTurns > 0
        ? { text: 'Done.' }
        : { toolCalls: [{ name: 'terminal', arguments: { command } }] }
    }
    await using tab = await site.open(`/c/${other}?panel=changes`)
    const { page } = tab
    await page.getByRole('button', { name: 'Commit …' }).click()
    await page.getByRole('textbox', { name: 'Commit message' }).fill("It's done; $(touch never)")
    await page.getByRole('checkbox', { name: /Push the branch/ }).check()
    await tab.shot('changes-commit')
    expect(await axeViolations(page)).toEqual([])
    await page.getByRole('button', { name: 'Commit and push' }).click()
    const approve = page.getByRole('button', { name: /^Approve/ })
    await approve.waitFor()
    expect(await git(remote, 'for-each-ref')).toBe('')
    await until(async () => {
      if (await approve.isVisible()) await approve.click()
      return (await git(remote, 'for-each-ref')) !== ''
    })
    expect(await git(remote, 'log', '--all', '--format=%s', '--name-only')).toBe(
      "It's done; $(touch never)\n\nresult.txt",
    )
    await page.getByText('Nothing differs from').waitFor()
    talk.answers = () => ({ text: 'Hello.' })
  })

  test('a workspace without a repository says so', async () => {
    const plain = join(talk.directory, 'plain')
    mkdirSync(plain)
    const other = await startConversation(site.server, talk, workspaceOf(plain))
    await using tab = await site.open(`/c/${other}?panel=changes`)
    await tab.page.getByText('Not a git repository').waitFor()
  })

  test('a failed reading is shown with a way to try again', async () => {
    await using tab = await site.open(`/c/${id}`)
    const { page } = tab
    tab.allow(/status of 400/)
    await page.route('**/api/git/changes**', (route) =>
      route.fulfill({ status: 400, json: { detail: 'git is broken' } }),
    )
    await page.getByRole('button', { name: 'Show the panel' }).click()
    await page.getByText('git is broken').waitFor()
    await page.unroute('**/api/git/changes**')
    await page.getByRole('region', { name: 'Panel' }).getByRole('button', { name: 'Try again' }).click()
    await page.getByText('6 files').waitFor()
  })

  test.each(['light', 'dark', 'forced'] as const)(
    'the accessibility checker finds nothing in %s colours',
    async (colors) => {
      await using tab = await open({ colors })
      const { page } = tab
      const list = page.getByRole('region', { name: 'Changed files' })
      await list.getByRole('button', { name: /src\/parser\.ts/ }).click()
      await list.getByRole('button', { name: 'Comment on line 3' }).last().click()
      await until(async () => (await list.getByRole('textbox').count()) === 1)
      await tab.shot(`changes-${colors}`)
      expect(await axeViolations(page, colors === 'light' ? 'all' : 'colors')).toEqual([])
    },
  )

  test('on a phone the changes fill the page', async () => {
    await using tab = await open({ width: 390, height: 844, isTouch: true })
    const list = tab.page.getByRole('region', { name: 'Changed files' })
    await list.getByRole('button', { name: /src\/parser\.ts/ }).click()
    await list.getByText("if (line === '') return []").waitFor()
    await tab.shot('changes-phone')
    expect(await tab.page.evaluate('document.documentElement.scrollWidth')).toBe(390)
  })
})
