/**
 * A model server for tests: real HTTP, scripted answers, the wire formats of four vendors.
 * Base URLs: `${url}/v1` for Chat Completions and Responses, `${url}/v1` for Anthropic, `${url}/v1beta` for Gemini.
 * Runnable: `node packages/server/testing/scripted-model.ts --port 0 --script file.json [--by turn]` prints its URL.
 */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { play, type PlayedAnswer, type ScriptedAnswer } from './model-formats/answer.ts'
import { anthropicMessages } from './model-formats/anthropic-messages.ts'
import { chatCompletions } from './model-formats/chat-completions.ts'
import { asObject, type Json, type RequestView } from './model-formats/format.ts'
import type { ModelFormat } from './model-formats/model-format.ts'
import { gemini } from './model-formats/gemini.ts'
import { outsider, search } from './canaries/watch.ts'
import { responses } from './model-formats/responses.ts'
import { blocksOf, Issued } from './model-formats/rules/issued.ts'
import { refusalsOf, type Asked, type Refusal } from './model-formats/rules/rule.ts'

export type { ScriptedAnswer, ScriptedThinking, ScriptedToolCall, ScriptedUsage } from './model-formats/answer.ts'
export type { RequestView } from './model-formats/format.ts'

export type ModelRequest = {
  format: ModelFormat['name']
  path: string
  /** The parameters behind the path. */
  query: Record<string, string>
  headers: IncomingHttpHeaders
  body: Json
  /** The unparsed body. */
  text: string
  view: RequestView
  /** The key, in the header of each format. */
  account: string
  /** What the vendor refuses in it. */
  refusals: readonly Refusal[]
  /** Resolves at the end of the exchange: `finished`, or `aborted` when the client disconnected first. */
  over: Promise<'finished' | 'aborted'>
}

export type ScriptedModelOptions = {
  /** One per request. */
  answers?: readonly ScriptedAnswer[]
  /**
   * `order` (default): the n-th request gets the n-th answer. `turn`: selected by the number of assistant turns in the
   * request, so
   * retries and restarts get the same answer.
   */
  by?: 'order' | 'turn'
  /** Selects the answer by the request instead; `index` counts requests from 0. */
  respond?: (request: ModelRequest, index: number) => ScriptedAnswer | Promise<ScriptedAnswer>
  /**
   * Why requests that the vendor refuses are answered all the same; for tests of broken servers and histories. Default: they are
   * refused with the status and the message of the vendor.
   */
  lenient?: string | undefined
  /** Records no request, for tests that measure memory over many of them. */
  forgets?: boolean
  /** JSON at other paths, such as `/v1/models`. Requests for them are not recorded. */
  pages?: Readonly<Record<string, unknown>>
  /** Default 0: any free port. */
  port?: number
}

export interface ScriptedModel extends AsyncDisposable {
  /** Without a trailing slash or version. */
  readonly url: string
  readonly requests: readonly ModelRequest[]
  /** What the vendors refuse in all requests so far. */
  readonly violations: readonly string[]
  /** TCP connections accepted so far. */
  readonly connections: number
}

/** Returns whether a request asks for a summary, with a record or behind the messages of an agent. */
export const asksForSummary = ({ lastUserText }: RequestView): boolean => lastUserText.includes('Write the summary')

const FORMATS = [chatCompletions, responses, anthropicMessages, gemini]
const EXHAUSTED = 'the script has no answer for this request'

/** Starts the server on 127.0.0.1. Disposing it breaks open connections and waits for their end. */
export async function startScriptedModel(options: ScriptedModelOptions = {}): Promise<ScriptedModel> {
  const requests: ModelRequest[] = []
  const violations: string[] = []
  const closing = new AbortController()
  let connections = 0
  let count = 0
  const issued = new Issued()

  const choose = async (request: ModelRequest, index: number): Promise<ScriptedAnswer> => {
    const [refusal] = request.refusals
    if (refusal !== undefined && options.lenient === undefined) return refused(request, refusal)
    if (options.respond) return options.respond(request, index)
    const at = options.by === 'turn' ? request.view.assistantTurns : index
    return options.answers?.[at] ?? { status: 400, error: EXHAUSTED }
  }

  const handle = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = new URL(incoming.url ?? '/', 'http://model').pathname
    const format = FORMATS.find((candidate) => candidate.matches(path))
    const text = await readAll(incoming)
    search('a request to a model', text)
    const page = options.pages?.[path]
    if (page !== undefined) return void response.writeHead(200).end(JSON.stringify(page))
    if (format === undefined)
      return void response.writeHead(404).end(JSON.stringify({ error: { message: `no model API at ${path}` } }))
    const request = record(format, path, incoming, text, response, issued)
    const index = count++
    if (!options.forgets) requests.push(request)
    violations.push(...request.refusals.map(({ rule, message }) => `request ${index}: ${rule}: ${message}`))
    const answer = await choose(request, index)
    const played = play(answer)
    if ((answer.status ?? 200) === 200) note(issued, format, request, played)
    await write(format, request, answer, played, response, closing.signal)
  }

  const server = createServer((incoming, response) => {
    handle(incoming, response).catch((error: unknown) => {
      if (!closing.signal.aborted && !response.destroyed) response.destroy(error as Error)
    })
  })
  server.on('connection', (socket) => {
    connections += 1
    socket.setNoDelay(true)
  })
  server.keepAliveTimeout = 60_000
  server.listen(options.port ?? 0, '127.0.0.1')
  await once(server, 'listening')
  outsider('a model', server)

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    violations,
    get connections() {
      return connections
    },
    async [Symbol.asyncDispose]() {
      if (!server.listening) return
      closing.abort()
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

async function readAll(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

function record(
  format: ModelFormat,
  path: string,
  incoming: IncomingMessage,
  text: string,
  response: ServerResponse,
  issued: Issued,
): ModelRequest {
  const body = asObject(JSON.parse(text))
  const { headers } = incoming
  const view = format.view(path, body)
  const account = accountOf(headers)
  const asked: Asked = { headers, body, view, account, issued }
  const over = new Promise<'finished' | 'aborted'>((resolve) => {
    response.once('close', () => resolve(response.writableFinished ? 'finished' : 'aborted'))
  })
  return {
    format: format.name,
    path,
    query: Object.fromEntries(new URL(incoming.url ?? '/', 'http://model').searchParams),
    headers,
    body,
    text,
    view,
    account,
    refusals: refusalsOf(format.rules, asked),
    over,
  }
}

const accountOf = (headers: IncomingHttpHeaders): string =>
  ['x-api-key', 'x-goog-api-key', 'authorization'].map((name) => headers[name] ?? '').join()

/** Remembers what the vendor recognises in later requests. */
function note(issued: Issued, format: ModelFormat, { account, body, view }: ModelRequest, played: PlayedAnswer): void {
  const parts = format.parts(played)
  const seals = parts.flatMap(({ signature }) => (signature === undefined ? [] : [signature]))
  const prefix = format.prefixOf(body)
  issued.note({ account, model: view.model, prefix, blocks: blocksOf(parts) }, seals)
}

const refused = ({ format }: ModelRequest, { status, code, message }: Refusal): ScriptedAnswer => ({
  status,
  error: FORMATS.find(({ name }) => name === format)!.error(status, message, code),
})

async function write(
  format: ModelFormat,
  request: ModelRequest,
  answer: ScriptedAnswer,
  played: PlayedAnswer,
  response: ServerResponse,
  signal: AbortSignal,
): Promise<void> {
  if (answer.hang === 'headers') return
  if (answer.delayMs) await sleep(answer.delayMs, undefined, { signal })
  const headers = {
    ...answer.headers,
    ...(answer.retryAfter === undefined ? {} : { 'retry-after': String(answer.retryAfter) }),
  }
  if (answer.status !== undefined && answer.status !== 200) {
    const body =
      typeof answer.error === 'object'
        ? answer.error
        : format.error(answer.status, answer.error ?? `scripted failure ${answer.status}`)
    return void response
      .writeHead(answer.status, { 'content-type': 'application/json', ...headers })
      .end(JSON.stringify(body))
  }
  if (!request.view.stream) {
    return void response
      .writeHead(200, { 'content-type': 'application/json', ...headers })
      .end(JSON.stringify(format.whole(played, request.view, request.body)))
  }
  const frames = format.frames(played, request.view, request.body)
  const sent = answer.hang === undefined ? frames : frames.slice(0, Math.ceil(frames.length / 2))
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache', ...headers })
  if (answer.chunkDelayMs) {
    for (const frame of sent) {
      response.write(frame)
      await sleep(answer.chunkDelayMs, undefined, { signal })
    }
  } else if (answer.hang === undefined) {
    return void response.end(sent.join(''))
  } else {
    response.write(sent.join(''))
  }
  if (answer.hang === undefined) return void response.end()
  if (answer.hang === 'close') setImmediate(() => response.destroy())
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      port: { type: 'string', default: '0' },
      script: { type: 'string' },
      by: { type: 'string', default: 'order' },
    },
  })
  if (values.script === undefined)
    throw new Error('usage: scripted-model.ts --script answers.json [--port 0] [--by order|turn]')
  const answers = JSON.parse(await readFile(values.script, 'utf8')) as ScriptedAnswer[]
  const model = await startScriptedModel({
    answers,
    by: values.by === 'turn' ? 'turn' : 'order',
    port: Number(values.port),
  })
  process.stdout.write(`${model.url}\n`)
}

if (import.meta.main) await main()
