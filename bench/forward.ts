import { Agent, request, type IncomingMessage } from 'node:http'
import { once } from 'node:events'
import WebSocket from 'ws'
import { NODE_KEYS, startNodes, type TestNode } from '../packages/server/testing/nodes.ts'
import { entry, median, quantile } from './harness.ts'

const REQUESTS = 600
const DELTAS = 400
const WARM_UP = 50

/** Times of one request, and of one delta, at the node that owns the conversation and at another one. Needs an installed PostgreSQL. */
export async function forward(): Promise<Record<string, number>> {
  const words = Array.from({ length: DELTAS }, (_, index) => `word-${index} `).join('')
  await using all = await startNodes({ respond: async () => ({ text: words, chunkDelayMs: 4 }), argv: entry() })
  const [owner, other] = all.nodes as [TestNode, TestNode]
  const id = await all.create(owner)
  const agent = new Agent({ keepAlive: true })
  // It is refused at once, so that the time is that of the way.
  const path = `/api/conversations/${id}/events/respond_to_confirmation`
  const body = JSON.stringify({ accept: true })
  const headers = {
    'x-session-api-key': NODE_KEYS.ann,
    'content-type': 'application/json',
    'content-length': body.length,
  }
  const timed = async (node: TestNode): Promise<number> => {
    const from = performance.now()
    const sent = request(node.server.url + path, { method: 'POST', headers, agent })
    sent.end(body)
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    response.resume()
    await once(response, 'end')
    if (response.statusCode !== 409) throw new Error(`a request was answered with ${response.statusCode}`)
    return performance.now() - from
  }
  const direct: number[] = []
  const forwarded: number[] = []
  for (let at = -WARM_UP; at < REQUESTS; at++) {
    const [here, there] = [await timed(owner), await timed(other)]
    if (at < 0) continue
    direct.push(here)
    forwarded.push(there)
  }
  agent.destroy()
  const [atOwner, atOther] = await Promise.all([owner, other].map((node) => arrivals(node, id)))
  await owner.call('POST', `/api/conversations/${id}/events`, {
    role: 'user',
    content: [{ type: 'text', text: 'go' }],
    run: true,
  })
  const [near, far] = [await atOwner!.times, await atOther!.times]
  const later = far.map((time, index) => time - near[index]!)
  return {
    'request at its owner, p50 (ms)': median(direct),
    'request at another node, p50 (ms)': median(forwarded),
    'request at another node, added p50 (ms)': median(forwarded) - median(direct),
    'delta at another node, added p50 (ms)': median(later),
    'delta at another node, added p99 (ms)': quantile(later, 0.99),
  }
}

/** Opens a socket; `times` of the deltas, up to the end of the run. */
async function arrivals({ server }: TestNode, id: string): Promise<{ times: Promise<number[]> }> {
  const socket = new WebSocket(`${server.url.replace('http', 'ws')}/sockets/session/${id}?after_seq=0`, {
    headers: { 'x-session-api-key': NODE_KEYS.ann },
  })
  await once(socket, 'message')
  const times: number[] = []
  const ended = new Promise<number[]>((resolve) => {
    socket.on('message', (data: Buffer) => {
      const frame = JSON.parse(data.toString()) as { type: string; state?: { execution_status: string } }
      if (frame.type === 'delta') times.push(performance.now())
      if (frame.state?.execution_status !== 'finished') return
      socket.terminate()
      resolve(times)
    })
  })
  return { times: ended }
}
