/** TCP relay to a server, whose connections can be broken. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export type Relay = AsyncDisposable & {
  readonly url: string
  /** Breaks all connections in both directions. Returns their number. */
  cut(): number
}

/** Passes bytes on in both directions. Disposal breaks the remaining connections. */
export async function startRelay(to: string): Promise<Relay> {
  const { port, hostname } = new URL(to)
  const open = new Set<Socket>()
  const relay = createServer((near) => {
    const far = connect(Number(port), hostname)
    open.add(near)
    near.on('close', () => open.delete(near))
    for (const [here, there] of [
      [near, far],
      [far, near],
    ] as const) {
      here.on('error', () => there.destroy())
      here.on('close', () => there.destroy())
      here.pipe(there)
    }
  })
  const cut = () => {
    const broken = [...open]
    for (const socket of broken) socket.destroy()
    return broken.length
  }
  await once(relay.listen(0, '127.0.0.1'), 'listening')
  return {
    url: `http://127.0.0.1:${(relay.address() as AddressInfo).port}`,
    cut,
    async [Symbol.asyncDispose]() {
      const closed = once(relay, 'close')
      relay.close()
      cut()
      await closed
    },
  }
}
