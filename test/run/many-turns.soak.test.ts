/**
 * Two thousand turns in one conversation with the condenser that users have by default: what the last ones take against the
 * first, in time and in memory. A turn is a message, one command and a closing word.
 */
import { expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { asksForSummary, startScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { KEY, startTestServer, type TestServer } from '../../packages/server/testing/server.ts'
import { collectGarbage } from '../../packages/server/testing/collect-garbage.ts'
import { recordFacts } from '../facts.ts'
import { llmOf, start, starting } from '../../packages/server/testing/conversations.ts'

const TURNS = 2000
/** Turns of other conversations before anything is measured, so that the first turns are not those of a cold program. */
const WARM_UP = 300
/** The first turns, before there is anything to make shorter; as many short conversations are begun as needed for a median. */
const FIRST = 20
const BEGINNINGS = 5
/** Turns that are measured together; in these the view grows and is made shorter several times. */
const LAST = 200

/** Memory in use, without garbage. */
function heapMb(): number {
  collectGarbage()
  return process.memoryUsage().heapUsed / 1e6
}

const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
const round = (value: number) => Math.round(value * 1000) / 1000

/** Milliseconds of one turn, from the message to the news that it is over; `cpu` of this thread alone. */
type Cost = { wall: number; cpu: number }
type Turns = AsyncDisposable & { id: string; take(count: number): Promise<Cost[]> }

const wallOf = (costs: readonly Cost[]) => median(costs.map(({ wall }) => wall))
const cpuOf = (costs: readonly Cost[]) => median(costs.map(({ cpu }) => cpu))

async function converse(server: TestServer, request: object): Promise<Turns> {
  const task = await start(server, request)
  const socket = new WebSocket(`${server.url.replace('http', 'ws')}/sockets/events/${task.id}`, {
    headers: { 'X-Session-API-Key': KEY },
  })
  let ended: PromiseWithResolvers<string> = Promise.withResolvers()
  socket.on('message', (data: Buffer) => {
    const { key, value } = JSON.parse(data.toString()) as { key?: string; value?: string }
    if (key === 'execution_status' && value !== 'running') ended.resolve(value ?? '')
  })
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  return {
    id: task.id,
    async take(count) {
      const costs: Cost[] = []
      for (let turn = 0; turn < count; turn++) {
        ended = Promise.withResolvers()
        const [from, used] = [performance.now(), process.threadCpuUsage()]
        expect((await task.say('go')).status).toBe(200)
        expect(await ended.promise).toBe('finished')
        const { user, system } = process.threadCpuUsage(used)
        costs.push({ wall: performance.now() - from, cpu: (user + system) / 1000 })
      }
      return costs
    },
    async [Symbol.asyncDispose]() {
      socket.terminate()
      await server.call('DELETE', `/api/conversations/${task.id}`)
    },
  }
}

test(`turn ${TURNS} takes no more than the first ones`, async () => {
  const largest = { first: 0, last: 0 }
  let phase: keyof typeof largest = 'first'
  await using model = await startScriptedModel({
    forgets: true,
    respond: ({ text, body, view }) => {
      if (asksForSummary(view)) return { text: 'The person says "go" again and again; each time a command is run.' }
      largest[phase] = Math.max(largest[phase], text.length)
      const messages = body['messages'] as { role: string }[]
      if (messages.at(-1)?.role === 'tool') return { text: 'done' }
      return { toolCalls: [{ name: 'terminal', arguments: { command: `echo step` } }] }
    },
  })
  await using server = await startTestServer()
  const condenser = { kind: 'LLMSummarizingCondenser', llm: llmOf(model) }
  const request = starting(model, server.dir.file('work'), { agent: { condenser } })
  {
    await using warm = await converse(server, request)
    await warm.take(WARM_UP)
  }
  largest.first = 0
  const first: Cost[] = []
  for (let n = 0; n < BEGINNINGS; n++) {
    await using fresh = await converse(server, request)
    first.push(...(await fresh.take(FIRST)))
  }
  phase = 'last'
  await using long = await converse(server, request)
  await long.take(FIRST)
  const heapAtFirst = heapMb()
  await long.take(LAST - FIRST)
  const [early, heapBefore] = [await long.take(LAST), heapMb()]
  await long.take(TURNS - 3 * LAST)
  const [late, heapAfter] = [await long.take(LAST), heapMb()]

  const figures = {
    turns: TURNS,
    first_20_turns_ms: round(wallOf(first)),
    turns_200_to_400_ms: round(wallOf(early)),
    last_200_turns_ms: round(wallOf(late)),
    last_over_first: round(wallOf(late) / wallOf(first)),
    last_over_turns_200_to_400: round(wallOf(late) / wallOf(early)),
    cpu_last_over_first: round(cpuOf(late) / cpuOf(first)),
    cpu_last_over_turns_200_to_400: round(cpuOf(late) / cpuOf(early)),
    largest_request_first_bytes: largest.first,
    largest_request_last_bytes: largest.last,
    heap_mb_after_20_turns: round(heapAtFirst),
    heap_mb_after_400_turns: round(heapBefore),
    heap_mb_after_2000_turns: round(heapAfter),
    heap_last_over_first: round(heapAfter / heapAtFirst),
    heap_last_over_turn_400: round(heapAfter / heapBefore),
    measured_at: new Date().toISOString(),
  }
  recordFacts('many_turns', figures)
  expect(figures.heap_last_over_first).toBeLessThan(1.1)
  expect(figures.heap_last_over_turn_400).toBeLessThan(1.1)
  // Processor time, because other processes share the machine. A cost that grows with the history would be a multiple by now.
  expect(figures.cpu_last_over_first).toBeLessThan(2)
  expect(figures.cpu_last_over_turns_200_to_400).toBeLessThan(1.5)
  // The request is as long as the view, and the view has a bound.
  expect(largest.last).toBeLessThan(64_000)
}, 900_000)
