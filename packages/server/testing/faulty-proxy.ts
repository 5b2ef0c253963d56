/** Proxy between two servers with selectable faults. */
import { once } from 'node:events'
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type Mode =
  /** Passes on all requests and answers. */
  | 'pass'
  /** Takes requests and never answers. */
  | 'silent'
  /** Answers like a server that has revoked the key. */
  | 'refuse'
  /** Passes on requests; the first answer of each path is cut off. */
  | 'forgetful'

export interface Proxy extends AsyncDisposable {
  readonly url: string
  mode: Mode
  /** Paths whose first answer was lost. */
  readonly forgotten: ReadonlySet<string>
  /** Largest number of concurrent connections. */
  readonly mostConnections: number
}

export async function startProxy(target: string): Promise<Proxy> {
  const forgotten = new Set<string>()
  const { hostname, port } = new URL(target)
  let mode: Mode = 'pass'
  let open = 0
  let most = 0
  const server = createServer((incoming: IncomingMessage, response: ServerResponse) => {
    if (mode === 'silent') return void incoming.resume()
    if (mode === 'refuse') {
      incoming.resume()
      return void response.writeHead(401, { 'content-type': 'application/json' }).end('{"detail":"Unauthorized"}')
    }
    const path = incoming.url?.split('?', 1)[0] ?? ''
    const isLost = mode === 'forgetful' && !forgotten.has(path)
    if (isLost) forgotten.add(path)
    const { method, headers, url } = incoming
    const outgoing = request({ hostname, port, path: url, method, headers, agent: false }, (answer) => {
      if (isLost) return void answer.resume().once('end', () => incoming.socket.destroy())
      response.writeHead(answer.statusCode ?? 500, answer.headers)
      answer.pipe(response)
    })
    outgoing.on('error', () => incoming.socket.destroy())
    incoming.pipe(outgoing)
  })
  server.on('connection', (socket) => {
    most = Math.max(most, ++open)
    socket.once('close', () => (open -= 1))
    socket.on('error', () => undefined)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    forgotten,
    get mode() {
      return mode
    },
    set mode(next: Mode) {
      mode = next
    },
    get mostConnections() {
      return most
    },
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}
