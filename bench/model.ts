/**
 * The model of the measurements: it answers at once, and its work does not grow with the history. It reads only the end of a
 * request, because parsing and checking all of it took longer than the measured server did in a long conversation.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { play } from '../packages/server/testing/model-formats/answer.ts'
import { chatCompletions } from '../packages/server/testing/model-formats/chat-completions.ts'

/** `url`: without a trailing slash or version. */
export type TurnModel = AsyncDisposable & { readonly url: string }

const CALLS = 5
/** Role members as the library writes them; in a text, their quotes would be escaped. */
const USER = '"role":"user"'
const RESULT = '"role":"tool"'

/** Starts a model that answers each message of a person with five `echo` commands, one after another, and then with a text. */
export async function turnModel(): Promise<TurnModel> {
  const server = createServer((incoming, response) => {
    void readAll(incoming).then((body) => {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
      response.end(answerTo(resultsIn(body)))
    })
  })
  server.on('connection', (socket) => socket.setNoDelay(true))
  server.keepAliveTimeout = 60_000
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

async function readAll(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

/** Results of calls after the newest message of a person. */
function resultsIn(body: Buffer): number {
  let count = 0
  const from = body.lastIndexOf(USER)
  for (let at = body.indexOf(RESULT, from); at !== -1; at = body.indexOf(RESULT, at + RESULT.length)) count += 1
  return count
}

function answerTo(results: number): string {
  const answer =
    results >= CALLS
      ? { text: 'done' }
      : { toolCalls: [{ name: 'terminal', arguments: { command: `echo step ${results}` } }] }
  const view = { model: 'scripted', stream: true, assistantTurns: 0, lastUserText: '', toolResults: [], tools: [] }
  return chatCompletions.frames(play(answer), view, { stream_options: { include_usage: true } }).join('')
}
