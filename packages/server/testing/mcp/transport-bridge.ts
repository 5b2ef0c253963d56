/**
 * Makes a server over standard input and output reachable over the two transports with an address. Each session has its
 * own
 * program. Lines are forwarded unchanged, invalid ones too, so that the faults of a program reach the client.
 */
import { spawn, type ChildProcessByStdio } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Readable, Writable } from 'node:stream'

export type Program = { command: string; args: readonly string[]; env?: Record<string, string> }
export type Transport = 'sse' | 'streamableHttp'

/** Length in characters after which a line is no message any more and is forwarded in chunks. */
const MAX_LINE_CHARS = 1_000_000
const EVENT_STREAM = { 'content-type': 'text/event-stream', 'cache-control': 'no-store' }

type Asked = { id: unknown; response: ServerResponse }
type Session = {
  id: string
  child: ChildProcessByStdio<Writable, Readable, null>
  /** Messages without a request, and with the older transport all messages. */
  stream: ServerResponse | null
  /** Requests without a response yet, each with its own stream; newer transport only. */
  asked: Asked[]
}

/** Listens on a free port of this machine; disposing it ends the programs of all sessions. */
export async function startBridge(transport: Transport, { command, args, env = {} }: Program) {
  const sessions = new Map<string, Session>()

  function open(): Session {
    const child = spawn(command, args, {
      stdio: ['pipe', 'pipe', 'ignore'],
      env: { PATH: process.env['PATH'], ...env },
    })
    const session: Session = { id: randomUUID(), child, stream: null, asked: [] }
    sessions.set(session.id, session)
    child.stdin.on('error', () => undefined)
    child.once('exit', () => {
      sessions.delete(session.id)
      for (const { response } of session.asked.splice(0)) response.end()
      session.stream?.end()
    })
    void pass(session)
    return session
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://bridge')
    if (transport === 'sse' && request.method === 'GET' && pathname === '/sse') {
      const session = open()
      session.stream = response.writeHead(200, EVENT_STREAM)
      response.write(`event: endpoint\ndata: /messages?session=${session.id}\n\n`)
      return void response.once('close', () => session.child.kill('SIGKILL'))
    }
    const header = request.headers['mcp-session-id']
    const known = sessions.get(searchParams.get('session') ?? String(header))
    const text = await read(request)
    if (transport === 'sse' || pathname !== '/mcp') {
      if (known === undefined) return void response.writeHead(404).end()
      known.child.stdin.write(`${text}\n`)
      return void response.writeHead(202).end()
    }
    if (request.method === 'POST') {
      const message = JSON.parse(text) as { id?: unknown; method?: string }
      const session = known ?? (header === undefined && message.method === 'initialize' ? open() : undefined)
      if (session === undefined) return void response.writeHead(404).end()
      session.child.stdin.write(`${text}\n`)
      if (message.id === undefined) return void response.writeHead(202).end()
      response.writeHead(200, { ...EVENT_STREAM, 'mcp-session-id': session.id }).flushHeaders()
      return void session.asked.push({ id: message.id, response })
    }
    if (known === undefined) return void response.writeHead(404).end()
    if (request.method === 'DELETE') {
      known.child.kill('SIGKILL')
      return void response.writeHead(204).end()
    }
    known.stream = response.writeHead(200, EVENT_STREAM)
    response.flushHeaders()
  }

  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/${transport === 'sse' ? 'sse' : 'mcp'}`,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close')
      server.close()
      const ended = [...sessions.values()].map(async ({ child }) => {
        const exited = once(child, 'exit')
        child.kill('SIGKILL')
        await exited
      })
      server.closeAllConnections()
      await Promise.all([closed, ...ended])
    },
  }
}

/** Forwards the output of the program, line by line, each to its stream. */
async function pass(session: Session): Promise<void> {
  let line = ''
  let endless: ServerResponse | null = null
  for await (const piece of session.child.stdout.setEncoding('utf8') as AsyncIterable<string>) {
    if (endless !== null) {
      if (endless.destroyed) return void session.child.kill('SIGKILL')
      if (!endless.write(piece)) await Promise.race([once(endless, 'drain'), once(endless, 'close')])
      continue
    }
    const lines = (line + piece).split('\n')
    line = lines.pop()!
    for (const each of lines) send(session, each)
    if (line.length <= MAX_LINE_CHARS) continue
    endless = session.asked.at(-1)?.response ?? session.stream
    endless?.write(`event: message\ndata: ${line}`)
  }
}

function send(session: Session, line: string): void {
  const at = session.asked.findIndex(({ id }) => id === answeredBy(line))
  const [asked] = at < 0 ? [] : session.asked.splice(at, 1)
  const to = asked?.response ?? session.stream ?? session.asked.at(-1)?.response
  to?.write(`event: message\ndata: ${line}\n\n`)
  asked?.response.end()
}

/** The id of the request that a line responds to; a symbol for none. */
function answeredBy(line: string): unknown {
  try {
    const { id, method } = JSON.parse(line) as { id?: unknown; method?: string }
    return method === undefined && id !== undefined ? id : Symbol('none')
  } catch {
    return Symbol('none')
  }
}

async function read(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const piece of request.setEncoding('utf8')) text += String(piece)
  return text
}
