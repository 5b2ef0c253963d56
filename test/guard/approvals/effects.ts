/**
 * An MCP server in the process of the test, whose calls are effects that are counted outside of Parley. A call of `hold` is answered
 * when the test says so; what follows it in its batch begins later.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Loose } from '../../../packages/server/testing/restartable-server.ts'
import type { Positions } from './stored-logs.ts'

/** A call that the server received. */
export type Effect = {
  args: Record<string, unknown>
  /** What was stored when it arrived, so after it began. */
  arrived: Positions
  /** What was stored when it had ended, so before the next call of its batch began; null while it is unanswered. */
  ended: Positions | null
}

export type Effects = AsyncDisposable & {
  readonly url: string
  /** The calls so far, by the tag in their arguments; a tag with several calls was executed several times. */
  readonly calls: ReadonlyMap<string, readonly Effect[]>
  /** True while a call of `hold` whose tag begins so is unanswered. */
  isHeld(prefix: string): boolean
  /** Answers the held calls whose tag begins so. */
  release(prefix: string): void
  /** Tags of the calls without an answer. */
  unanswered(): string[]
  /** Forgets the calls whose tag begins so. */
  forget(prefix: string): void
  /** Ends all unanswered calls: their client is dead, and no other one has started. */
  cut(): void
}

const schema = {
  type: 'object',
  properties: { tag: { type: 'string' }, note: { type: 'string' } },
  required: ['tag', 'note'],
}
const TOOLS = [
  { name: 'note_down', description: 'Notes something down.', inputSchema: schema },
  { name: 'hold', description: 'Notes something down, and takes long.', inputSchema: schema },
]

/**
 * @param positions what is stored now
 * @param onHeld called after a call of `hold` has arrived
 */
export async function startEffects(positions: () => Positions, onHeld: () => void = () => undefined): Promise<Effects> {
  const calls = new Map<string, Effect[]>()
  const held = new Map<Effect, { tag: string; answer: () => void }>()
  const unanswered = new Set<Effect>()

  function end(effect: Effect): void {
    unanswered.delete(effect)
    held.delete(effect)
    // The connections end after the store that is read here.
    if (server.listening) effect.ended ??= positions()
  }

  function call(id: unknown, { name, arguments: args = {} }: Loose, response: ServerResponse): void {
    const effect: Effect = { args, arrived: positions(), ended: null }
    const tag = String(args.tag)
    calls.set(tag, [...(calls.get(tag) ?? []), effect])
    unanswered.add(effect)
    // A client that is gone has ended the call, and with it the batch.
    response.once('close', () => end(effect))
    const answer = () => {
      end(effect)
      reply(response, id, { result: { content: [{ type: 'text', text: 'noted' }] } })
    }
    if (name !== 'hold') return answer()
    held.set(effect, { tag, answer })
    onHeld()
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== 'POST') return void response.writeHead(405).end()
    let text = ''
    for await (const piece of request.setEncoding('utf8')) text += piece
    const { id, method, params } = JSON.parse(text) as Loose
    if (id === undefined) return void response.writeHead(202).end()
    if (method === 'tools/call') return call(id, params, response)
    const result = answerTo(method)
    reply(response, id, result === null ? { error: { code: -32601, message: 'no such method' } } : { result })
  }

  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy())
  })
  server.keepAliveTimeout = 60_000
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const matching = (prefix: string) => [...held.values()].filter(({ tag }) => tag.startsWith(prefix))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    calls,
    isHeld: (prefix) => matching(prefix).length > 0,
    release: (prefix) => matching(prefix).forEach(({ answer }) => answer()),
    unanswered: () => [...unanswered].map(({ args }) => String(args['tag'])),
    forget(prefix) {
      for (const tag of calls.keys()) if (tag.startsWith(prefix)) calls.delete(tag)
    },
    cut: () => [...unanswered].forEach(end),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

function answerTo(method: unknown): object | null {
  if (method === 'tools/list') return { tools: TOOLS }
  if (method !== 'initialize') return null
  const serverInfo = { name: 'effects', version: '1' }
  return { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo }
}

function reply(response: ServerResponse, id: unknown, message: object): void {
  if (response.destroyed) return
  response
    .writeHead(200, { 'content-type': 'application/json' })
    .end(JSON.stringify({ jsonrpc: '2.0', id, ...message }))
}
