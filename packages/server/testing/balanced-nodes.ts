/** A server of tests: one, or the nodes that `store-choice.ts` says, behind a load balancer that gives each request to the next one. */
import { startFleetProxy } from './fleet-proxy.ts'
import { nodeDirs } from './store-choice.ts'

export type Balanced<Node> = AsyncDisposable & {
  /** Address of the load balancer; of the only node without one. */
  readonly url: string
  /** At least one. */
  readonly nodes: readonly Node[]
}

export type BalancedOptions = {
  /** That of the first node. */
  dataDir: string
  /** Settings of the test; with a store of its own, the server is one node. */
  env?: Readonly<Record<string, string>>
  /** Port of the address. Default: a free one. */
  port?: number
}

/**
 * Starts the nodes at the same time, each with a data directory of its own. Disposal ends them together, and then the load balancer.
 * @param open starts a node; `port`: 0 for a free one
 * @throws what the start of a node throws, after the others have ended
 */
export async function startBalanced<Node extends AsyncDisposable & { url: string }>(
  { dataDir, env = {}, port = 0 }: BalancedOptions,
  open: (dataDir: string, port: number) => Promise<Node>,
): Promise<Balanced<Node>> {
  await using starting = new AsyncDisposableStack()
  const dirs = nodeDirs(dataDir, env)
  const urls: string[] = []
  const isAlone = dirs.length === 1
  const proxy = isAlone ? null : starting.use(await startFleetProxy(() => urls, { port, isChecked: false }))
  const starts = await Promise.allSettled(dirs.map((dir) => open(dir, isAlone ? port : 0)))
  const nodes = starts.flatMap((start) => (start.status === 'fulfilled' ? [start.value] : []))
  starting.defer(async () => void (await Promise.all(nodes.map((node) => node[Symbol.asyncDispose]()))))
  for (const start of starts) if (start.status === 'rejected') throw start.reason
  urls.push(...nodes.map(({ url }) => url))
  const owned = starting.move()
  return { url: proxy?.url ?? urls[0]!, nodes, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}
