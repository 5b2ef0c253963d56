/**
 * A load balancer in front of several servers: each request goes to the next one that is ready. A server whose readiness check fails or is late gets no
 * requests, and its connections are closed, as load balancers do.
 */
import { once } from 'node:events'
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

const CHECK_MS = 200
const CHECK_LIMIT_MS = 1_000

export interface FleetProxy extends AsyncDisposable {
  readonly url: string
}

export type FleetProxyOptions = {
  /** Default: a free port. */
  port?: number
  /** False: every server counts as ready at any time. */
  isChecked?: boolean
}

/** @param servers the addresses of the servers at this moment */
export async function startFleetProxy(
  servers: () => readonly string[],
  { port: ownPort = 0, isChecked = true }: FleetProxyOptions = {},
): Promise<FleetProxy> {
  const ready = new Set<string>()
  const connections = new Map<string, Set<Socket>>()
  const ending = new AbortController()
  let turn = 0
  const next = (): string | undefined => {
    const able = servers().filter((url) => !isChecked || ready.has(url))
    return able[turn++ % Math.max(1, able.length)]
  }
  const belongsTo = (url: string, socket: Socket) => {
    const open = connections.get(url) ?? new Set()
    connections.set(url, open.add(socket))
    socket.once('close', () => open.delete(socket))
  }
  const isReady = (url: string) =>
    fetch(`${url}/ready`, { signal: AbortSignal.timeout(CHECK_LIMIT_MS) }).then(
      ({ status }) => status === 200,
      () => false,
    )
  const checks = new Map<string, Promise<void>>()
  const check = async (url: string) => {
    if (await isReady(url)) return void ready.add(url)
    ready.delete(url)
    for (const socket of connections.get(url) ?? []) socket.destroy()
  }
  const checking = (async () => {
    while (isChecked && !ending.signal.aborted) {
      for (const url of servers())
        if (!checks.has(url))
          checks.set(
            url,
            check(url).finally(() => checks.delete(url)),
          )
      await sleep(CHECK_MS, undefined, { signal: ending.signal }).catch(() => undefined)
    }
  })()

  const server = createServer((incoming, response) => passOn(incoming, response, next, belongsTo))
  server.on('upgrade', (incoming: IncomingMessage, near: Socket, head: Buffer) => {
    near.on('error', () => undefined)
    const url = next()
    if (url === undefined) return void near.destroy()
    const { hostname, port } = new URL(url)
    const far = connect(Number(port), hostname)
    belongsTo(url, far)
    far.on('error', () => near.destroy()).on('close', () => near.destroy())
    near.on('close', () => far.destroy())
    const lines = incoming.rawHeaders.flatMap((name, at, all) => (at % 2 === 0 ? [`${name}: ${all[at + 1]}`] : []))
    far.write(`${[`GET ${incoming.url} HTTP/1.1`, ...lines].join('\r\n')}\r\n\r\n`)
    far.write(head)
    near.pipe(far).pipe(near)
  })
  await once(server.listen(ownPort, '127.0.0.1'), 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      ending.abort()
      await checking
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      for (const open of connections.values()) for (const socket of open) socket.destroy()
      await closed
    },
  }
}

/** A request that no server has accepted a connection for goes nowhere: 503, as from a load balancer without servers. */
function passOn(
  incoming: IncomingMessage,
  response: ServerResponse,
  next: () => string | undefined,
  belongsTo: (url: string, socket: Socket) => void,
): void {
  const url = next()
  if (url === undefined) return void response.writeHead(503, { 'retry-after': '1' }).end()
  const { hostname, port } = new URL(url)
  const { method, headers } = incoming
  const outgoing = request({ hostname, port, path: incoming.url, method, headers, agent: false }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers)
    answer.pipe(response)
    answer.on('error', () => response.destroy())
  })
  outgoing.on('socket', (socket) => belongsTo(url, socket))
  outgoing.on('error', () => {
    if (response.headersSent) response.destroy()
    else response.writeHead(502).end()
  })
  response.on('close', () => outgoing.destroy())
  incoming.pipe(outgoing)
}
