/** TCP relay to a server, whose connections can be broken or silenced. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { Transform } from 'node:stream'

export type Relay = AsyncDisposable & {
  readonly url: string
  /** Connections so far. */
  readonly connections: number
  /** Breaks all connections in both directions. Returns their number. */
  cut(): number
  /**
   * `refused`: connections are broken, and new ones too. `silent`: nothing arrives at either end, of new connections neither; as in a network
   * that loses packets, what was sent arrives when the relay passes bytes on again.
   */
  state: 'open' | 'refused' | 'silent'
}

type Pair = readonly [near: Socket, far: Socket]

/**
 * Passes bytes on in both directions. Disposal breaks the remaining connections.
 * @param to a function: where each new connection goes
 * @param change changes what the server answers, without its length
 */
export async function startRelay(to: string | (() => string), change?: (bytes: Buffer) => Buffer): Promise<Relay> {
  const open = new Set<Pair>()
  let state: Relay['state'] = 'open'
  let connections = 0
  const pass = ([near, far]: Pair) => {
    near.pipe(far)
    if (change === undefined) return void far.pipe(near)
    far.pipe(new Transform({ transform: (bytes: Buffer, _, done) => done(null, change(bytes)) })).pipe(near)
  }
  const hold = ([near, far]: Pair) => {
    near.unpipe(far).pause()
    far.unpipe(near).pause()
  }
  const relay = createServer((near) => {
    connections += 1
    if (state === 'refused') return void near.destroy()
    const { port, hostname } = new URL(typeof to === 'string' ? to : to())
    const far = connect(Number(port), hostname)
    const pair = [near, far] as const
    open.add(pair)
    near.on('close', () => open.delete(pair))
    for (const [here, there] of [pair, [far, near]] as const) {
      here.on('error', () => there.destroy())
      here.on('close', () => there.destroy())
    }
    if (state === 'open') pass(pair)
  })
  const cut = () => {
    const broken = [...open]
    for (const [near] of broken) near.destroy()
    return broken.length
  }
  await once(relay.listen(0, '127.0.0.1'), 'listening')
  return {
    url: `http://127.0.0.1:${(relay.address() as AddressInfo).port}`,
    get connections() {
      return connections
    },
    cut,
    get state() {
      return state
    },
    set state(next) {
      if (state === 'silent' && next === 'open') for (const pair of open) pass(pair)
      if (state !== 'silent' && next === 'silent') for (const pair of open) hold(pair)
      if (next === 'refused') cut()
      state = next
    },
    async [Symbol.asyncDispose]() {
      const closed = once(relay, 'close')
      relay.close()
      cut()
      await closed
    },
  }
}
