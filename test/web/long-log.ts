/** A server with a conversation of 50,000 events, and a browser on it. */
import { chromium, type Page } from 'playwright-core'
import { type Event, newEventId, type StoredEvent, TreeEvent } from '@parley/protocol'
import { openSqlite } from '../../packages/server/src/storage/index.ts'
import { startServerProcess, TEST_KEY, type ServerProcess } from '../../packages/server/testing/server-process.ts'
import { own } from '../../packages/server/testing/store-fixtures.ts'
import { CHROMIUM, type Site } from './harness.ts'
import { startConversation, type Talk } from './talk.ts'

/** Events of one turn: a message, calls with their results, an answer. */
const CALLS = 12
/** Events of one commit. */
const COMMIT = 2_000

export type LongLog = AsyncDisposable & {
  readonly server: ServerProcess
  readonly id: string
  /** Opens a page of the server; its files come from the server of `site`. */
  open(path: string): Promise<Page>
}

/**
 * Stores the events while no server uses the data directory, then starts one.
 * @param log the events, or how many of them
 */
export async function openLongLog(site: Site, talk: Talk, log: number | readonly Event[]): Promise<LongLog> {
  await using stack = new AsyncDisposableStack()
  const dataDir = site.server.dir.file('long-log')
  const id = await createdIn(dataDir, talk)
  await fill(dataDir, id, typeof log === 'number' ? turns(log) : log)
  const server = stack.use(await startServerProcess({ dataDir }))
  // The page's origin is another server than the one of its files, which a browser takes for another network.
  const args = ['--no-sandbox', '--disable-gpu', '--disable-features=LocalNetworkAccessChecks']
  const browser = stack.adopt(await chromium.launch({ executablePath: CHROMIUM!, args }), (one) => one.close())
  const open = stack.move()
  return {
    server,
    id,
    async open(path) {
      const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce' })
      await context.route(/\/(?:assets\/|c\/|$)/, async (route) =>
        route.fulfill({
          response: await route.fetch({ url: site.server.url + new URL(route.request().url()).pathname }),
        }),
      )
      await context.addInitScript((key) => sessionStorage.setItem('parley.session', key), TEST_KEY)
      const page = await context.newPage()
      await page.goto(server.url + path)
      return page
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}

async function createdIn(dataDir: string, talk: Talk): Promise<string> {
  await using server = await startServerProcess({ dataDir })
  return await startConversation(server, talk)
}

async function fill(dataDir: string, id: string, log: readonly Event[]): Promise<void> {
  await using storage = await openSqlite({ path: `${dataDir}/parley.db` })
  const { row } = await own(storage, id as typeof row.id)
  for (let at = 0; at < log.length; at += COMMIT) {
    const events = log
      .slice(at, at + COMMIT)
      .map((event, index): StoredEvent => ({ seq: row.seq + at + index + 1, event }))
    await storage.conversations.append({ id: row.id, epoch: row.epoch, expectedSeq: row.seq + at, events })
  }
}

/** Events of one branch, a second apart. `add` returns the id of the event. */
export function eventChain(): { events: Event[]; add: (members: Record<string, unknown>) => string } {
  const events: Event[] = []
  let parent: string | null = null
  const add = (members: Record<string, unknown>): string => {
    const id = newEventId()
    const timestamp = `${new Date(Date.UTC(2026, 0, 1) + events.length * 1000).toISOString().slice(0, 23)}000`
    events.push(TreeEvent.parse({ id, timestamp, parent_id: parent, ...members }))
    parent = id
    return id
  }
  return { events, add }
}

/** The same turn again and again; every third call fails, and every answer has another length. */
function turns(count: number): Event[] {
  const { events, add } = eventChain()
  const text = (value: string) => [{ type: 'text', text: value }]
  for (let turn = 1; events.length < count; turn++) {
    add({ kind: 'MessageEvent', source: 'user', llm_message: { role: 'user', content: text(`Task ${turn}`) } })
    for (let call = 0; call < CALLS; call++) {
      const [tool_name, tool_call_id] = ['terminal', `call_${turn}_${call}`]
      const command = `node step-${turn}-${call}.js`
      const action_id = add({
        kind: 'ActionEvent',
        source: 'agent',
        thought: call % 5 === 0 ? text(`I look at part ${call} of task ${turn}.`) : [],
        action: { kind: 'TerminalAction', command },
        tool_name,
        tool_call_id,
        tool_call: { id: tool_call_id, name: tool_name, arguments: JSON.stringify({ command }), origin: 'completion' },
        llm_response_id: `r_${turn}_${call}`,
      })
      const observation = {
        kind: 'TerminalObservation',
        command,
        content: text('ok\n'.repeat(call)),
        exit_code: call % 3 === 2 ? 1 : 0,
      }
      add({ kind: 'ObservationEvent', source: 'environment', tool_name, tool_call_id, action_id, observation })
    }
    const answer = `Task ${turn} is done.\n\n${'It took a while. '.repeat(turn % 40)}`
    add({ kind: 'MessageEvent', source: 'agent', llm_message: { role: 'assistant', content: text(answer) } })
  }
  return events.slice(0, count)
}
