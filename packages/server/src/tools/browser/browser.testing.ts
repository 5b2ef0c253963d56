/** A browser in a real workspace, and pages for it on this machine. */
import { existsSync } from 'node:fs'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { asConversationId } from '@parley/protocol'
import { openTestWorkspaces, never } from '../../workspace/workspace.testing.ts'
import type { ToolContext } from '../tool.ts'
import { SharedBrowser } from './shared-browser.ts'
import { browserToolSet } from './tool-set.ts'

/** True when a Chromium is installed. */
export const HAS_CHROMIUM = (process.env['PATH'] ?? '')
  .split(':')
  .some((dir) => ['chromium', 'chromium-browser', 'google-chrome'].some((name) => existsSync(`${dir}/${name}`)))

/** Milliseconds for a test with a browser on a loaded machine. */
export const BROWSER_TEST_MS = 90_000

export async function browserBench(
  holder = new SharedBrowser(),
  options: Parameters<typeof openTestWorkspaces>[0] = {},
) {
  const own = await openTestWorkspaces(options)
  const workspace = await own.open()
  const tools = new Map(browserToolSet(holder).map((tool) => [tool.name, tool]))
  let calls = 0
  return {
    own,
    workspace,
    tools,
    holder,
    call: async (name: string, args: object = {}, over: Partial<ToolContext> = {}) => {
      const tool = tools.get(`browser_${name}`)!
      const found = (await tool.execute(tool.parse({ ...args }), {
        conversationId: asConversationId('c1'),
        callId: `call-${++calls}`,
        workspace,
        dataDir: own.dir.file('own'),
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
    async [Symbol.asyncDispose]() {
      await holder.close()
      await own[Symbol.asyncDispose]()
    },
  }
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
