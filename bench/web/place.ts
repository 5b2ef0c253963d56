/** Parts of the measurements of the web UI: a server with a scripted model, and pages of a browser. */
import { chromium, type Browser, type Page } from 'playwright-core'
import { TEST_KEY, type ServerProcess } from '../../packages/server/testing/server-process.ts'
import { tempDir, type TempDir } from '../../packages/server/testing/temp.ts'
import { CHROMIUM } from '../../test/web/chromium.ts'
import { startTalk, type Talk } from '../../test/web/talk.ts'
import { serve } from '../harness.ts'

/** Runs of each figure, whose median is printed. */
export const RUNS = 5

export type Place = AsyncDisposable & { dir: TempDir; talk: Talk; server: ServerProcess; browser: Browser }

export async function openPlace(): Promise<Place> {
  if (CHROMIUM === undefined) throw new Error('there is no Chromium in the PATH; install one')
  await using stack = new AsyncDisposableStack()
  const dir = stack.use(await tempDir())
  const talk = stack.use(await startTalk())
  const server = stack.use(await serve(dir.file('data')))
  const args = ['--no-sandbox', '--disable-gpu']
  const browser = stack.adopt(await chromium.launch({ executablePath: CHROMIUM, args }), (one) => one.close())
  const open = stack.move()
  return { dir, talk, server, browser, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

/** Opens a page with an empty cache that is signed in. */
export async function openPage({ browser, server }: Place, path: string): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
  await context.addInitScript((key) => sessionStorage.setItem('parley.session', key), TEST_KEY)
  const page = await context.newPage()
  await page.goto(server.url + path)
  return page
}
