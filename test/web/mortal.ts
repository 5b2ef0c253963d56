/** A page on a server process that a scenario kills and starts again; the files of the page come from the server of `site`. */
import { chromium, type Page } from 'playwright-core'
import { startServerProcess, TEST_KEY, type ServerProcess } from '../../packages/server/testing/server-process.ts'
import { CHROMIUM, type Site } from './harness.ts'

export type Mortal = AsyncDisposable & {
  /** The process that runs now. */
  readonly server: ServerProcess
  readonly page: Page
  /** Ends the process with SIGKILL. */
  kill(): Promise<void>
  /** Starts a process on the same data directory and port. */
  restart(): Promise<void>
}

/** Starts a process on a data directory of that name, and a page that is signed in and shows nothing yet. */
export async function openMortal(site: Site, name: string): Promise<Mortal> {
  await using stack = new AsyncDisposableStack()
  const dataDir = site.server.dir.file(name)
  let server = await startServerProcess({ dataDir })
  stack.defer(() => server[Symbol.asyncDispose]())
  const port = Number(new URL(server.url).port)
  // A browser would take the origin of the files for another network.
  const args = ['--no-sandbox', '--disable-gpu', '--disable-features=LocalNetworkAccessChecks']
  const browser = stack.adopt(await chromium.launch({ executablePath: CHROMIUM!, args }), (one) => one.close())
  const context = await browser.newContext({ reducedMotion: 'reduce' })
  await context.route(/\/(?:assets|c)\//, async (route) =>
    route.fulfill({
      response: await route.fetch({ url: site.server.url + new URL(route.request().url()).pathname }),
    }),
  )
  await context.addInitScript((key) => sessionStorage.setItem('parley.session', key), TEST_KEY)
  const page = await context.newPage()
  const open = stack.move()
  return {
    page,
    get server() {
      return server
    },
    kill: () => server.kill(),
    async restart() {
      server = await startServerProcess({ dataDir, port })
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}
