/** One node of a fleet: a server process of its own, whose ways to the store and from other nodes lead through relays. */
import { once } from 'node:events'
import { freePort } from './free-port.ts'
import { startRelay, type Relay } from './relay.ts'
import { startServerProcess, type ServerProcess, type ServerProcessOptions } from './server-process.ts'
import { NODES_SECRET_KEY } from './store-choice.ts'

/** Key of every node. */
export const FLEET_KEY = 'key-of-a-fleet-of-tests'

export type FleetNodeOptions = {
  name: string
  dataDir: string
  /** Address of the database on the primary of this moment. */
  storeUrl: () => string
  leaseSeconds: number
  env?: Record<string, string>
  /** Program to run instead of the bundle of this commit. */
  argv?: ServerProcessOptions['argv']
}

export type NodeState = 'running' | 'frozen' | 'draining' | 'ended'

/** A node keeps its name, its address and its data directory over all its processes. */
export class FleetNode implements AsyncDisposable {
  readonly name: string
  readonly url: string
  /** The way of this node to its store, and that of its lease and its notifications. */
  readonly storeRelay: Relay
  readonly sessionRelay: Relay
  /** The way of other nodes to this one. */
  readonly peerRelay: Relay
  readonly #options: FleetNodeOptions
  #server: ServerProcess | null = null
  #state: NodeState = 'ended'
  #errors = ''

  private constructor(options: FleetNodeOptions, url: string, [store, session, peer]: readonly [Relay, Relay, Relay]) {
    this.name = options.name
    this.url = url
    this.storeRelay = store
    this.sessionRelay = session
    this.peerRelay = peer
    this.#options = options
  }

  /** A node that is not started yet. */
  static async make(options: FleetNodeOptions): Promise<FleetNode> {
    const url = `http://127.0.0.1:${await freePort()}`
    const relays = [
      await startRelay(options.storeUrl),
      await startRelay(options.storeUrl),
      await startRelay(url),
    ] as const
    return new FleetNode(options, url, relays)
  }

  get state(): NodeState {
    return this.#state
  }

  get pid(): number {
    return this.#server!.process.pid!
  }

  /** Standard error of all processes so far. */
  get stderr(): string {
    return this.#errors + (this.#server?.stderr() ?? '')
  }

  async start(changes: Pick<FleetNodeOptions, 'argv' | 'env'> = {}): Promise<void> {
    const { dataDir, storeUrl, leaseSeconds, env, argv } = { ...this.#options, ...changes }
    const over = (relay: Relay): string => {
      const address = new URL(storeUrl())
      address.host = new URL(relay.url).host
      return String(address)
    }
    const server = await startServerProcess({
      dataDir,
      port: Number(new URL(this.url).port),
      ...(argv === undefined ? {} : { argv }),
      env: {
        PARLEY_DATABASE_URL: over(this.storeRelay),
        PARLEY_DATABASE_SESSION_URL: over(this.sessionRelay),
        PARLEY_NODE_URL: this.peerRelay.url,
        PARLEY_LEASE_SECONDS: String(leaseSeconds),
        PARLEY_SECRET_KEY: NODES_SECRET_KEY,
        PARLEY_SESSION_API_KEYS: FLEET_KEY,
        ...this.#options.env,
        ...env,
      },
    })
    this.#server = server
    this.#state = 'running'
    void server.exited.then(() => {
      this.#errors += server.stderr()
      if (this.#server !== server) return
      this.#server = null
      this.#state = 'ended'
    })
  }

  /** The state of both ways to the store. */
  set store(state: Relay['state']) {
    this.storeRelay.state = state
    this.sessionRelay.state = state
  }

  /** Sends SIGKILL. */
  async kill(): Promise<void> {
    await this.#server?.kill()
  }

  /** Stops the process, which keeps its connections. */
  freeze(): void {
    this.#server!.process.kill('SIGSTOP')
    this.#state = 'frozen'
  }

  wake(): void {
    this.#server?.process.kill('SIGCONT')
    if (this.#state === 'frozen') this.#state = 'running'
  }

  /** Sends SIGTERM, and waits for the end of the process. Returns its exit code; null after a signal. */
  async drain(): Promise<number | null> {
    const server = this.#server
    if (server === null) return null
    this.#state = 'draining'
    const ended = once(server.process, 'exit')
    server.process.kill('SIGTERM')
    return ((await ended) as [number | null])[0]
  }

  /** A JSON call to this node. @throws when the connection fails */
  call(method: string, path: string, body?: unknown, timeoutMs = 30_000): Promise<{ status: number; body: any }> {
    return callAt(this.url, method, path, body, timeoutMs)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.wake()
    const relays = [this.storeRelay, this.sessionRelay, this.peerRelay]
    for (const relay of relays) relay.state = 'open'
    await this.#server?.[Symbol.asyncDispose]()
    await Promise.all(relays.map((relay) => relay[Symbol.asyncDispose]()))
  }
}

/** A JSON call with the key of the fleet. @throws when the connection fails, or no answer comes in time */
export async function callAt(
  url: string,
  method: string,
  path: string,
  body?: unknown,
  timeoutMs = 30_000,
): Promise<{ status: number; body: any }> {
  const response = await fetch(url + path, {
    method,
    headers: { 'X-Session-API-Key': FLEET_KEY, 'Content-Type': 'application/json' },
    signal: AbortSignal.timeout(timeoutMs),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, body: text === '' ? null : JSON.parse(text) }
}
