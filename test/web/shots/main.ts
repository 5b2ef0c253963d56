/** `npm run web:shots`: writes the screenshots of README and docs to `docs/images`, from a server with scripted conversations. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { startScriptedModel } from '../../../packages/server/testing/scripted-model.ts'
import { startServerProcess, TEST_KEY } from '../../../packages/server/testing/server-process.ts'
import { tempDir } from '../../../packages/server/testing/temp.ts'
import { until } from '../../../packages/server/testing/until.ts'
import { CHROMIUM } from '../chromium.ts'
import { root } from '../../source-files.ts'
import { answerOf, TASKS, writeProject } from './project.ts'

const FOLDER = join(root, 'docs', 'images')
const WIDE = { width: 1280, height: 800 }
const PHONE = { width: 390, height: 844 }
const ENDED = ['finished', 'waiting_for_confirmation', 'error']

type Shot = {
  name: string
  path: string
  /** Resolves when the page shows what the image is about. */
  ready: (page: Page) => Promise<unknown>
  size?: { width: number; height: number }
}

if (CHROMIUM === undefined) throw new Error('no Chromium is in the PATH: install chromium, and try again')
mkdirSync(FOLDER, { recursive: true })
await using dir = await tempDir()
const project = dir.file('invoices')
writeProject(project)
await using model = await startScriptedModel({ respond: ({ view }) => answerOf(view, project) })
await using server = await startServerProcess({ dataDir: dir.file('data') })
const browser: Browser = await chromium.launch({
  executablePath: CHROMIUM,
  args: ['--no-sandbox', '--disable-gpu'],
})
try {
  await take({
    name: 'welcome',
    path: '/',
    ready: (page) => page.getByRole('button', { name: 'Watch the demo' }).waitFor(),
  })
  for (const shot of await shots()) await take(shot)
} finally {
  await browser.close()
}

/** Makes the conversations, and says what is shown of them. */
async function shots(): Promise<Shot[]> {
  await server.call('POST', '/api/settings', {
    llm_model: 'openai/scripted',
    llm_base_url: `${model.url}/v1`,
    llm_api_key: 'scripted',
  })
  await server.call('POST', '/api/secrets', { name: 'MAIL_TOKEN', value: 'word', description: 'Sends the reminders' })
  await converse('How retries of mails work', TASKS.explain)
  const fix = await converse('Totals differ by a cent', TASKS.fix)
  await converse('Measure the import', TASKS.wait, 'running')
  const release = await converse('Publish version 2.4.0', TASKS.release)
  const text = (value: string) => (page: Page) => page.getByText(value).first().waitFor()
  const answered = text('The totals equal the accounts now')
  const panel = (name: string, value: string): Shot => ({
    name,
    path: `/c/${fix}?panel=${name}`,
    ready: (page) => page.locator('.panel').getByText(value).first().waitFor(),
  })
  const approval = (page: Page) =>
    page
      .getByRole('button', { name: /^Approve/ })
      .first()
      .waitFor()
  return [
    { name: 'home', path: '/', ready: text('Needs attention') },
    { name: 'new-conversation', path: '/new', ready: text('New conversation') },
    { name: 'conversation', path: `/c/${fix}`, ready: answered },
    { name: 'approval', path: `/c/${release}`, ready: approval },
    { name: 'approval-phone', path: `/c/${release}`, ready: approval, size: PHONE },
    {
      ...panel('changes', 'total.js'),
      async ready(page) {
        await page.locator('.panel').getByText('total.js').first().click()
        await page.locator('.panel').getByText('The accounts round the tax').first().waitFor()
      },
    },
    panel('files', 'README.md'),
    panel('terminal', 'node --test'),
    panel('tree', 'Totals'),
    panel('usage', 'scripted'),
    { name: 'policy', path: '/settings/policy', ready: text('When to ask you') },
    { name: 'secrets', path: '/settings/secrets', ready: text('MAIL_TOKEN') },
  ]
}

/** Starts a conversation in the project; resolves to its id when it runs, or rests. */
async function converse(title: string, task: string, to: 'rest' | 'running' = 'rest'): Promise<string> {
  const { status, body } = await server.call('POST', '/api/conversations', {
    workspace: { kind: 'LocalWorkspace', working_dir: project },
    agent: {
      kind: 'Agent',
      llm: {
        model: 'openai/scripted',
        base_url: `${model.url}/v1`,
        api_key: 'scripted',
        usage_id: 'agent',
        stream: true,
      },
      tools: [{ name: 'terminal' }, { name: 'file_editor' }],
    },
    confirmation_policy: { kind: 'ConfirmRisky' },
    security_analyzer: { kind: 'LLMSecurityAnalyzer' },
    autotitle: false,
  })
  if (status >= 300) throw new Error(`no conversation: ${status} ${JSON.stringify(body)}`)
  const at = `/api/conversations/${body.id}`
  await server.call('PATCH', at, { title })
  await server.call('POST', `${at}/events`, { content: [{ type: 'text', text: task }], run: true })
  await until(async () => {
    const { execution_status } = (await server.call('GET', at)).body
    return to === 'running' ? execution_status === 'running' : ENDED.includes(execution_status)
  }, 60_000)
  return body.id
}

async function take({ name, path, ready, size = WIDE }: Shot): Promise<void> {
  const context: BrowserContext = await browser.newContext({
    baseURL: server.url,
    viewport: size,
    colorScheme: 'light',
    reducedMotion: 'reduce',
    hasTouch: size === PHONE,
  })
  await context.addInitScript((key) => sessionStorage.setItem('parley.session', key), TEST_KEY)
  const page = await context.newPage()
  await page.goto(path)
  await ready(page)
  await page.waitForLoadState('networkidle').catch(() => undefined)
  await page.evaluate('document.fonts.ready')
  await page.screenshot({ path: join(FOLDER, `${name}.png`) })
  console.log(`docs/images/${name}.png`)
  await context.close()
}
