/** R3: what a request, a delta and an event cost when they reach a node that does not own their conversation. */
import WebSocket from 'ws'
import { callAt, FLEET_KEY, type FleetNode } from '../../packages/server/testing/fleet-node.ts'
import { startScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { median, quantile } from '../harness.ts'
import { fleetOf } from './cost.ts'
import { row, Talk, type Row } from './place.ts'

const REQUESTS = 400
const DELTAS = 300
const EVENTS = 60
const SUBSCRIBERS = [1, 10, 100]

export async function forwarding(): Promise<Row[]> {
  await using stack = new AsyncDisposableStack()
  const text = Array.from({ length: DELTAS }, (_, at) => `delta ${at}`.padEnd(16)).join('')
  const model = stack.use(await startScriptedModel({ respond: () => ({ text, chunkSize: 16, chunkDelayMs: 5 }) }))
  const fleet = stack.use(await fleetOf(2))
  const [owner, other] = fleet.nodes as [FleetNode, FleetNode]
  const talk = stack.use(await Talk.open(owner.url, model, fleet.dir.file('work'), true))
  await talk.turn()
  return [
    row('R3 request at the wrong node: p50 more', await requests(talk.id, owner, other), 0.5, 'ms'),
    row('R3 delta at the wrong node: p50 more', await deltas(talk, owner, other), 0.3, 'ms'),
    ...(await events(talk.id, owner, other)),
  ]
}

/** A request that the owner answers from its memory, one after the other at each node. */
async function requests(id: string, owner: FleetNode, other: FleetNode): Promise<number> {
  const times = { owner: [] as number[], other: [] as number[] }
  for (let at = 0; at < REQUESTS; at += 1)
    for (const [name, { url }] of [
      ['owner', owner],
      ['other', other],
    ] as const) {
      const from = performance.now()
      const { status } = await callAt(url, 'POST', `/api/conversations/${id}/pause`)
      times[name].push(performance.now() - from)
      if (status !== 200) throw new Error(`a pause answered ${status}`)
    }
  return median(times.other) - median(times.owner)
}

type Watcher = AsyncDisposable & { arrivals: Map<string, number> }

/** Times at which the frames of one kind arrive, by what tells them apart. */
async function watch(url: string, id: string, nameOf: (frame: any) => string | null): Promise<Watcher> {
  const arrivals = new Map<string, number>()
  const socket = new WebSocket(`${url.replace('http', 'ws')}/sockets/session/${id}?after_seq=0`, {
    headers: { 'X-Session-API-Key': FLEET_KEY },
  })
  socket.on('message', (data: Buffer) => {
    const at = performance.now()
    const name = nameOf(JSON.parse(data.toString()))
    if (name !== null) arrivals.set(name, at)
  })
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  return { arrivals, [Symbol.asyncDispose]: async () => socket.terminate() }
}

/** The same deltas at two sockets of this process. */
async function deltas(talk: Talk, owner: FleetNode, other: FleetNode): Promise<number> {
  const nameOf = (frame: any) =>
    frame.type === 'delta' ? (/delta \d+/.exec(JSON.stringify(frame))?.[0] ?? null) : null
  await using direct = await watch(owner.url, talk.id, nameOf)
  await using passedOn = await watch(other.url, talk.id, nameOf)
  await talk.turn()
  const late = [...direct.arrivals].flatMap(([name, at]) => {
    const there = passedOn.arrivals.get(name)
    return there === undefined ? [] : [there - at]
  })
  if (late.length < DELTAS / 4) throw new Error(`only ${late.length} deltas arrived at both sockets`)
  return median(late)
}

/** From sending a message to its arrival at the last of several subscribers. */
async function events(id: string, owner: FleetNode, other: FleetNode): Promise<Row[]> {
  const rows: Row[] = []
  const nameOf = (frame: any) => (frame.type === 'event' ? (frame.event.id as string) : null)
  for (const subscribers of SUBSCRIBERS) {
    const times = { owner: [] as number[], other: [] as number[] }
    for (const [name, node] of [
      ['owner', owner],
      ['other', other],
    ] as const) {
      await using open = new AsyncDisposableStack()
      const watchers: Watcher[] = []
      for (let at = 0; at < subscribers; at += 1) watchers.push(open.use(await watch(node.url, id, nameOf)))
      for (let at = 0; at < EVENTS; at += 1) {
        const event_id = crypto.randomUUID()
        const from = performance.now()
        const content = [{ type: 'text', text: 'a message' }]
        await callAt(owner.url, 'POST', `/api/conversations/${id}/events`, { event_id, content, run: false })
        while (!watchers.every(({ arrivals }) => arrivals.has(event_id)))
          await new Promise((resolve) => setImmediate(resolve))
        times[name].push(Math.max(...watchers.map(({ arrivals }) => arrivals.get(event_id)!)) - from)
      }
    }
    const ratio = quantile(times.other, 0.99) / quantile(times.owner, 0.99)
    rows.push(row(`R3 event at the wrong node to ${subscribers} subscribers: p99`, ratio, 1.5))
  }
  return rows
}
