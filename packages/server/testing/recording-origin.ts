/**
 * An address that a user controls: an HTTP server that answers as a model, a critic and a webhook receiver, and keeps every request as
 * it arrived.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { outsider } from './canaries/watch.ts'
import { startScriptedModel, type ScriptedModelOptions } from './scripted-model.ts'

export type RecordedRequest = {
  method: string
  url: string
  /** Name, value, name, value, … as sent. */
  headers: readonly string[]
  body: string
}

export interface RecordingOrigin extends AsyncDisposable {
  /** Without a trailing slash. */
  readonly url: string
  /** All requests, in order of arrival. */
  readonly requests: readonly RecordedRequest[]
  /** Requests that contain `text` in address, headers or body: as it is, percent-encoded or in base64. */
  containing(text: string): RecordedRequest[]
}

/** Starts the server on 127.0.0.1. Its model answers as `options` say. */
export async function startRecordingOrigin(options: ScriptedModelOptions): Promise<RecordingOrigin> {
  await using stack = new AsyncDisposableStack()
  const model = stack.use(await startScriptedModel(options))
  const requests: RecordedRequest[] = []

  async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET', url = '/', rawHeaders: headers } = incoming
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks).toString()
    requests.push({ method, url, headers, body })
    if (method !== 'POST') return void response.writeHead(404).end('{}')
    if (url.endsWith('/classify')) return void response.end(JSON.stringify({ data: [{ probs: [0.9] }] }))
    const answered = await fetch(model.url + url, { method, body })
    const type = answered.headers.get('content-type') ?? 'application/json'
    response.writeHead(answered.status, { 'content-type': type }).end(Buffer.from(await answered.arrayBuffer()))
  }

  const server = createServer((incoming, response) => void answer(incoming, response).catch(() => response.destroy()))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  outsider('a model', server)
  stack.defer(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  const open = stack.move()
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    containing: (text) => {
      const forms = [text, encodeURIComponent(text), Buffer.from(text).toString('base64')]
      return requests.filter((request) => forms.some((form) => JSON.stringify(request).includes(form)))
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}
