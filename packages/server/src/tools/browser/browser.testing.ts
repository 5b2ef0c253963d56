/** A browser in a real workspace, and pages for it on this machine. */
import { existsSync } from 'node:fs'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { asConversationId } from '@parley/protocol'
import { never, type TestWorkspaces } from '../../workspace/workspace.testing.ts'
import type { ToolContext } from '../tool.ts'
import { SharedBrowser } from './shared-browser.ts'
import { browserToolSet } from './tool-set.ts'

/** True when a Chromium is installed. */
export const HAS_CHROMIUM = (process.env['PATH'] ?? '')
  .split(':')
  .some((dir) => ['chromium', 'chromium-browser', 'google-chrome'].some((name) => existsSync(`${dir}/${name}`)))

/** Milliseconds for a test with a browser on a loaded machine. */
export const BROWSER_TEST_MS = 90_000

export type BrowserBench = Awaited<ReturnType<typeof browserIn>>

let benches = 0

/** The browser tools of one agent in a workspace of `own`. Disposal ends the browser. */
export async function browserIn(own: TestWorkspaces, holder = new SharedBrowser()) {
  const id = `c${++benches}`
  const workspace = await own.open(id)
  // Two browsers cannot use one profile.
  const dataDir = own.dir.file('own', id)
  const tools = new Map(browserToolSet(holder).map((tool) => [tool.name, tool]))
  let calls = 0
  return {
    dataDir,
    holder,
    call: async (name: string, args: object = {}, over: Partial<ToolContext> = {}) => {
      const tool = tools.get(`browser_${name}`)!
      const found = (await tool.execute(tool.parse({ ...args }), {
        conversationId: asConversationId(id),
        callId: `call-${++calls}`,
        workspace,
        dataDir,
        secretsFor: () => Promise.resolve({}),
        signal: never,
        ...over,
      })) as any
      return { ...found, text: found.content[0].text as string }
    },
    /** Returns the index of the first element whose row contains the text. */
    indexOf: (state: { text: string }, text: string) => {
      const row = state.text.split('\n').find((line) => /^\[\d+\]/.test(line) && line.includes(text))
      if (row === undefined) throw new Error(`no element with ${text} in:\n${state.text}`)
      return Number(/^\[(\d+)\]/.exec(row)![1])
    },
    [Symbol.asyncDispose]: () => holder.close(),
  }
}

/** Closes all tabs of a browser but `tab`, which the next navigation uses. */
export async function withOneTab(bench: BrowserBench): Promise<BrowserBench & { tab: string }> {
  const { call } = bench
  const { text } = await call('list_tabs')
  const [tab, ...others] = [...text.matchAll(/^[* ] (\d+): /gm)].map(([, id]) => id!)
  if (tab === undefined) throw new Error(`the browser has no tab: ${text}`)
  for (const tab_id of others) await call('close_tab', { tab_id })
  return { ...bench, tab }
}

/** Serves pages by path: fixed texts, or functions of the request. */
export async function pages(of: Record<string, string | ((request: IncomingMessage) => string)>) {
  const server = createServer((request, response) => {
    const page = of[new URL(request.url ?? '/', 'http://x').pathname]
    if (page === undefined)
      return void response.writeHead(404, { 'content-type': 'text/html' }).end('<title>none</title>')
    const cookie = { 'set-cookie': 'visit=secret-cookie-value; Max-Age=3600' }
    response
      .writeHead(200, { 'content-type': 'text/html; charset=utf-8', ...cookie })
      .end(typeof page === 'string' ? page : page(request))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}
