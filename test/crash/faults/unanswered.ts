/** What a server does while it leaves a request unanswered: what its thread executes, and which of its functions wait. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ServerProcess } from '../../../packages/server/testing/server-process.ts'
import { until } from '../../../packages/server/testing/until.ts'

const PROFILE_MS = 2_000
/** Milliseconds for one answer of the inspector. A thread that is blocked outside of JavaScript gives none. */
const ANSWER_MS = 20_000
/** Functions of a stack, the innermost first. */
const FRAMES = 6
const MOST_LINES = { stacks: 8, functions: 60 }

type Inspector = Disposable & {
  ask: (method: string, params?: object) => Promise<any>
  /** Parts of the heap snapshot. */
  chunks: string[]
}

/**
 * Describes a server that was started with `--inspect-port=0`, in lines: its most frequent stacks, and its suspended functions. A thread
 * that never waits gives no snapshot, and so no suspended functions. Profile and snapshot are written to `folder`. Never rejects.
 */
export async function describeUnanswered(
  server: Pick<ServerProcess, 'process' | 'stderr'>,
  folder: string,
  answerMs = ANSWER_MS,
): Promise<string[]> {
  const lines: string[] = []
  try {
    server.process.kill('SIGUSR1')
    const url = () => /Debugger listening on (ws:\S+)/.exec(server.stderr())?.[1]
    await until(() => url() !== undefined, answerMs)
    using inspector = await connect(url()!, answerMs)
    lines.push(...(await stacksOf(inspector, join(folder, 'unanswered.cpuprofile'))))
    lines.push(...(await suspendedIn(inspector, join(folder, 'unanswered.heapsnapshot'))))
  } catch (error) {
    lines.push(`the server could not be described further: ${String(error)}`)
  }
  return lines
}

async function connect(url: string, answerMs: number): Promise<Inspector> {
  const socket = new WebSocket(url)
  const waiting = new Map<number, PromiseWithResolvers<any>>()
  const chunks: string[] = []
  socket.addEventListener('message', ({ data }) => {
    const { id, method, params, result, error } = JSON.parse(String(data))
    if (method === 'HeapProfiler.addHeapSnapshotChunk') chunks.push(params.chunk)
    if (error === undefined) waiting.get(id)?.resolve(result)
    else waiting.get(id)?.reject(new Error(error.message))
  })
  const opened = Promise.withResolvers<void>()
  socket.addEventListener('open', () => opened.resolve())
  socket.addEventListener('error', () => opened.reject(new Error(`no connection to ${url}`)))
  await inTime('connection', opened.promise, answerMs)
  let next = 1
  return {
    chunks,
    ask(method, params = {}) {
      const answer = Promise.withResolvers<any>()
      const id = next++
      waiting.set(id, answer)
      socket.send(JSON.stringify({ id, method, params }))
      return inTime(method, answer.promise, answerMs)
    },
    [Symbol.dispose]: () => socket.close(),
  }
}

async function inTime<T>(what: string, promise: Promise<T>, ms: number): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error(`${what}: no answer of the inspector`)), ms)
  return Promise.race([promise, late.promise]).finally(() => clearTimeout(timer))
}

/** The stacks that used the processor, the most frequent first. */
async function stacksOf({ ask }: Inspector, file: string): Promise<string[]> {
  await ask('Profiler.enable')
  await ask('Profiler.setSamplingInterval', { interval: 1_000 })
  await ask('Profiler.start')
  await sleep(PROFILE_MS)
  const { profile } = await ask('Profiler.stop')
  await writeFile(file, JSON.stringify(profile))
  const nodes = new Map<number, any>(profile.nodes.map((node: any) => [node.id, node]))
  const callers = new Map<number, number>()
  for (const { id, children = [] } of profile.nodes) for (const child of children) callers.set(child, id)
  const counts = new Map<string, number>()
  for (const sample of profile.samples) {
    const names: string[] = []
    for (let id = sample; names.length < FRAMES && callers.has(id); id = callers.get(id)!) {
      const { functionName, url, lineNumber } = nodes.get(id).callFrame
      names.push(`${functionName || 'anonymous'} ${url.split('/').at(-1)}:${lineNumber + 1}`)
    }
    count(counts, names.join(' < '))
  }
  return listed(`samples of the thread, one for each millisecond of ${PROFILE_MS}:`, counts, MOST_LINES.stacks)
}

/** The functions that wait for something, and how many times each. V8 keeps the registers of a suspended function in an object. */
async function suspendedIn({ ask, chunks }: Inspector, file: string): Promise<string[]> {
  await ask('HeapProfiler.takeHeapSnapshot', { reportProgress: false })
  const text = chunks.join('')
  await writeFile(file, text)
  const { snapshot, nodes, edges, strings, locations } = JSON.parse(text)
  const { node_fields, edge_types } = snapshot.meta
  const lines = new Map<number, number>()
  for (let at = 0; at < locations.length; at += 4) lines.set(locations[at], locations[at + 2] + 1)
  const counts = new Map<string, number>()
  let edge = 0
  for (let node = 0; node < nodes.length; node += node_fields.length) {
    const internal = new Map<string, number>()
    for (const end = edge + nodes[node + node_fields.indexOf('edge_count')] * 3; edge < end; edge += 3)
      if (edge_types[0][edges[edge]] === 'internal') internal.set(strings[edges[edge + 1]], edges[edge + 2])
    const suspended = internal.has('parameters_and_registers') ? internal.get('function') : undefined
    if (suspended !== undefined)
      count(counts, `${strings[nodes[suspended + 1]] || 'anonymous'}, line ${lines.get(suspended) ?? 'unknown'}`)
  }
  return listed('suspended functions:', counts, MOST_LINES.functions)
}

const count = (counts: Map<string, number>, name: string): void => void counts.set(name, (counts.get(name) ?? 0) + 1)

const listed = (title: string, counts: Map<string, number>, most: number): string[] => [
  title,
  ...[...counts]
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, most)
    .map(([name, times]) => `  ${String(times).padStart(6)}  ${name}`),
]
