/**
 * HTTP proxy of a sandbox with a list of hosts, on a unix socket that is mounted into the sandbox.
 *
 * Invariants
 *   P1. It connects only to hosts that the list allows, at addresses that this process resolved: name resolution inside the
 *       sandbox has no effect.
 *   P2. A pattern or a public name in the list never gives access to this machine; only an entry that is itself an address
 *       or `localhost` does.
 */
import { lookup as resolveName, type LookupAddress } from 'node:dns'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { connect, isIP, type LookupFunction, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { matchHost, nodeHttp } from '../../../lib/index.ts'
import { leadsHere } from './own-addresses.ts'

const CONNECT_MS = 30_000
/** Headers that apply to one connection and are not forwarded. */
const HOP_BY_HOP = ['connection', 'keep-alive', 'proxy-authorization', 'proxy-connection', 'te', 'trailer', 'upgrade']

type Target = { host: string; port: number; lookup: LookupFunction }

/** Listens at `path`. Forwarded data is neither inspected nor stored. @throws the system's error when it cannot listen. */
export async function openFilteringProxy(path: string, list: readonly string[]): Promise<Server> {
  const server = nodeHttp().createServer((request, response) => forward(list, request, response))
  server.on('connect', (request: IncomingMessage, socket: Duplex, head: Buffer) => tunnel(list, request, socket, head))
  server.on('clientError', (_error, socket) => socket.destroy())
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(path, resolve)
  })
  return server.unref()
}

/** The target of a request; null when the list does not allow it. */
function targetOf(list: readonly string[], host: string, port: number): Target | null {
  const entry = matchHost(list, host, port)
  if (entry === null) return null
  const name = host.replace(/^\[(.*)\]$/, '$1')
  const mayBeThisMachine = entry.isNamed && (isIP(name) !== 0 || name.toLowerCase() === 'localhost')
  if (isIP(name) !== 0 && leadsHere(name) && !mayBeThisMachine) return null
  return { host: name, port, lookup: mayBeThisMachine ? resolveName : publicLookup }
}

const publicLookup: LookupFunction = (host, options, done) => {
  resolveName(host, { ...options, all: true }, (error, found: LookupAddress[]) => {
    if (error !== null) return done(error, [])
    const addresses = found.filter(({ address }) => !leadsHere(address))
    const [first] = addresses
    if (first === undefined) return done(new Error(`${host} is an address of this machine`), [])
    return options.all === true ? done(null, addresses) : done(null, first.address, first.family)
  })
}

const refusal = (host: string, port: number): string =>
  `${host}:${port} is not among the hosts that this sandbox may reach\n`

function tunnel(list: readonly string[], request: IncomingMessage, client: Duplex, head: Buffer): void {
  client.on('error', () => client.destroy())
  const [, host = '', port = ''] = /^(.*):(\d+)$/.exec(request.url ?? '') ?? []
  const target = targetOf(list, host, Number(port))
  if (target === null) {
    const text = refusal(host, Number(port))
    client.end(
      `HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
    )
    return
  }
  const upstream: Socket = connect({ ...target, allowHalfOpen: true })
  const limit = setTimeout(() => upstream.destroy(new Error('timed out')), CONNECT_MS)
  upstream.once('connect', () => {
    clearTimeout(limit)
    client.write('HTTP/1.1 200 Connection Established\r\n\r\n')
    upstream.write(head)
    client.pipe(upstream)
    upstream.pipe(client)
  })
  upstream.on('error', (error) => {
    clearTimeout(limit)
    if (upstream.bytesRead === 0 && !client.writableEnded)
      client.end(`HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nX-Reason: ${plain(error)}\r\n\r\n`)
    else client.destroy()
  })
  client.on('close', () => upstream.destroy())
}

function forward(list: readonly string[], request: IncomingMessage, response: ServerResponse): void {
  const url = URL.canParse(request.url ?? '') ? new URL(request.url ?? '') : null
  if (url === null || url.protocol !== 'http:') {
    response.writeHead(400, { 'Content-Type': 'text/plain' }).end('this is a proxy\n')
    return
  }
  const port = url.port === '' ? 80 : Number(url.port)
  const target = targetOf(list, url.hostname, port)
  if (target === null) {
    response.writeHead(403, { 'Content-Type': 'text/plain' }).end(refusal(url.hostname, port))
    return
  }
  const headers = Object.fromEntries(Object.entries(request.headers).filter(([name]) => !HOP_BY_HOP.includes(name)))
  const onward = nodeHttp().request(
    { ...target, method: request.method, path: url.pathname + url.search, headers },
    (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    },
  )
  onward.setTimeout(CONNECT_MS, () => onward.destroy(new Error('timed out')))
  onward.on('error', (error) =>
    response.headersSent ? response.destroy() : response.writeHead(502).end(`${plain(error)}\n`),
  )
  request.pipe(onward)
  response.on('close', () => onward.destroy())
}

const plain = (error: Error): string => error.message.replaceAll(/[^\x20-\x7e]/g, ' ')
