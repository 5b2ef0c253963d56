/** The web UI in a real Chromium: builds it once, opens pages, and holds each page to the rules that every scenario keeps. */
import { mkdirSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Browser, chromium, type Page } from 'playwright-core'
import { expect } from 'vitest'
import { startTestServer, type TestServer } from '../../packages/server/testing/server.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { until } from '../../packages/server/testing/until.ts'
import { webFiles } from '../../scripts/web-files.ts'
import { root } from '../source-files.ts'
import { CHROMIUM } from './chromium.ts'

export { CHROMIUM }

const SHOTS = join(root, 'artifacts', 'web')

/** Milliseconds for a scenario on a loaded machine. */
export const SCENARIO_MS = 60_000

export type Site = AsyncDisposable & {
  readonly server: TestServer
  /** Opens a page in a browser profile of its own. */
  open(path: string, look?: Look): Promise<Tab>
}

type Look = {
  readonly colors?: 'dark' | 'light' | 'forced'
  readonly width?: number
  readonly height?: number
  readonly isTouch?: boolean
  /** The page finds itself signed in. Default: true. */
  readonly isSignedIn?: boolean
}

export type Tab = AsyncDisposable & {
  readonly page: Page
  /** Messages of the console that the scenario causes on purpose, such as a refused login. */
  allow(message: RegExp): void
  /** Writes `artifacts/web/NAME.png`. */
  shot(name: string): Promise<void>
}

let built: Promise<string> | undefined

/** The folder of the UI, built from the sources once per worker. */
function builtUi(): Promise<string> {
  built ??= (async () => {
    const dir = await tempDir()
    process.once('exit', () => void dir[Symbol.asyncDispose]())
    for (const { name, bytes } of await webFiles()) {
      await mkdir(dirname(dir.file(name)), { recursive: true })
      await writeFile(dir.file(name), bytes)
    }
    return dir.path
  })()
  return built
}

/** Starts a server with the UI, and a browser. */
export async function openSite(env: Record<string, string> = {}): Promise<Site> {
  await using stack = new AsyncDisposableStack()
  const server = stack.use(await startTestServer(env, { uiFolder: await builtUi() }))
  const browser = await chromium.launch({ executablePath: CHROMIUM!, args: ['--no-sandbox', '--disable-gpu'] })
  stack.defer(() => browser.close())
  const open = stack.move()
  return {
    server,
    open: (path, look = {}) => openTab(browser, server, path, look),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}

async function openTab(browser: Browser, server: TestServer, path: string, look: Look): Promise<Tab> {
  const { colors = 'light', width = 1280, height = 800, isTouch = false, isSignedIn = true } = look
  const context = await browser.newContext({
    baseURL: server.url,
    viewport: { width, height },
    colorScheme: colors === 'light' ? 'light' : 'dark',
    forcedColors: colors === 'forced' ? 'active' : 'none',
    reducedMotion: 'reduce',
    hasTouch: isTouch,
  })
  const page = await context.newPage()
  const faults: string[] = []
  const allowed: RegExp[] = []
  page.on('console', (message) => {
    if (message.type() === 'error') faults.push(`console: ${message.text()}`)
  })
  page.on('pageerror', (error) => faults.push(`error: ${error.message}`))
  page.on('request', (request) => {
    const { protocol, origin } = new URL(request.url())
    if (origin !== server.url && !['data:', 'blob:'].includes(protocol)) faults.push(`request: ${request.url()}`)
  })
  await page.goto(isSignedIn ? `${path}#login=${await loginCode(server)}` : path)
  if (isSignedIn) await until(() => page.evaluate<boolean>('sessionStorage.length > 0'))
  return {
    page,
    allow: (message) => void allowed.push(message),
    async shot(name) {
      mkdirSync(SHOTS, { recursive: true })
      await page.screenshot({ path: join(SHOTS, `${name}.png`) })
    },
    async [Symbol.asyncDispose]() {
      await context.close()
      expect(faults.filter((fault) => !allowed.some((one) => one.test(fault)))).toEqual([])
    },
  }
}

/** The code of a login link that works once. */
export async function loginCode(server: TestServer): Promise<string> {
  const { status, body } = await server.call('POST', '/api/auth/codes')
  if (status !== 201) throw new Error(`no login code: ${status} ${JSON.stringify(body)}`)
  return body.code
}
