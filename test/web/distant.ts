/** Pages on the nodes of a fleet; their files come from the server of `site`. */
import { randomUUID } from 'node:crypto'
import { chromium, type Page } from 'playwright-core'
import { startFleet, EXECUTOR_KEY, type Fleet } from '../../packages/server/testing/fleet.ts'
import { FLEET_KEY, type FleetNode } from '../../packages/server/testing/fleet-node.ts'
import { until } from '../../packages/server/testing/until.ts'
import { CHROMIUM, type Site } from './harness.ts'

export type Distant = AsyncDisposable & {
  readonly fleet: Fleet
  /** Starts a conversation on the first node, with a workspace that every node reaches. Resolves to its id and its owner. */
  start(agent: object, members?: object): Promise<{ id: string; owner: FleetNode }>
  /** A running node that does not own the conversation. */
  elsewhere(id: string): Promise<FleetNode>
  /** Opens a page of a node, signed in. */
  open(node: FleetNode, path: string): Promise<Page>
}

/** Starts two nodes and a browser. */
export async function openDistant(site: Site): Promise<Distant> {
  await using stack = new AsyncDisposableStack()
  const fleet = stack.use(await startFleet({ nodes: 2 }))
  // A browser would take the origin of the files for another network.
  const args = ['--no-sandbox', '--disable-gpu', '--disable-features=LocalNetworkAccessChecks']
  const browser = stack.adopt(await chromium.launch({ executablePath: CHROMIUM!, args }), (one) => one.close())
  const open = stack.move()
  const ownerOf = async (id: string): Promise<FleetNode> => {
    await until(async () => (await fleet.ownerOf(id)) !== undefined)
    return (await fleet.ownerOf(id))!
  }
  return {
    fleet,
    async start(agent, members = {}) {
      const id = randomUUID()
      const { status, body } = await fleet.call('POST', '/api/conversations', {
        conversation_id: id,
        autotitle: false,
        workspace: {
          kind: 'RemoteWorkspace',
          working_dir: fleet.dir.file('work', id),
          host: fleet.executor.url,
          api_key: EXECUTOR_KEY,
        },
        agent,
        ...members,
      })
      if (status >= 300) throw new Error(`conversation not created: ${JSON.stringify(body)}`)
      return { id, owner: await ownerOf(id) }
    },
    async elsewhere(id) {
      const owner = await ownerOf(id)
      return fleet.nodes.find((node) => node !== owner && node.state === 'running')!
    },
    async open(node, path) {
      const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce' })
      const isFile = ({ pathname }: URL) => /^\/(?:assets\/|c\/|approvals$|$)/.test(pathname)
      await context.route(isFile, async (route) =>
        route.fulfill({
          response: await route.fetch({ url: site.server.url + new URL(route.request().url()).pathname }),
        }),
      )
      await context.addInitScript((key) => sessionStorage.setItem('parley.session', key), FLEET_KEY)
      const page = await context.newPage()
      await page.goto(node.url + path)
      return page
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}
