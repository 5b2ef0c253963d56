/** What several nodes, and a database, cost against one node of the same minute. */
import { startFleet, type Fleet } from '../../packages/server/testing/fleet.ts'
import { FLEET_KEY } from '../../packages/server/testing/fleet-node.ts'
import { startServerProcess, type ServerProcess } from '../../packages/server/testing/server-process.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { entry, median, residentMb } from '../harness.ts'
import { turnModel } from '../model.ts'
import { note, processorMs, row, rowAtLeast, Talk, type Row } from './place.ts'

const ROUNDS = 7
const SINGLE = 12
const TOGETHER = 16
const WAVES = 2

type Side = { talks: Talk[]; single: Talk; pids: () => readonly number[] }
type Round = { oneMs: number; rate: number; cpuMs: number }

/** One fresh turn after another, then sixteen at once. Processor time per turn of the latter. */
async function measure({ talks, single, pids }: Side): Promise<Round> {
  const times: number[] = []
  for (let turn = 0; turn < SINGLE; turn += 1) times.push(await single.turn())
  const cpuFrom = await processorMs(pids())
  const from = performance.now()
  for (let wave = 0; wave < WAVES; wave += 1) await Promise.all(talks.map((talk) => talk.turn()))
  const wallMs = performance.now() - from
  const turns = WAVES * talks.length
  return {
    oneMs: median(times),
    rate: (turns * 1000) / wallMs,
    cpuMs: ((await processorMs(pids())) - cpuFrom) / turns,
  }
}

const sqlite = (dataDir: string): Promise<ServerProcess> =>
  startServerProcess({ dataDir, argv: entry(), env: { PARLEY_SESSION_API_KEYS: FLEET_KEY, PARLEY_LOG_LEVEL: 'error' } })

export const fleetOf = (nodes: number): Promise<Fleet> =>
  startFleet({ nodes, argv: entry(), leaseSeconds: 6, isDurable: true, env: { PARLEY_LOG_LEVEL: 'error' } })

/** R1 and R2, and the memory and start of R8. */
export async function cost(): Promise<Row[]> {
  await using stack = new AsyncDisposableStack()
  const dir = stack.use(await tempDir())
  const model = stack.use(await turnModel())
  const alone = stack.use(await sqlite(dir.file('sqlite')))
  const one = stack.use(await fleetOf(1))
  const three = stack.use(await fleetOf(3))
  const fleetPids = (fleet: Fleet) => () => [...fleet.nodes.map(({ pid }) => pid), fleet.store.pid]
  const sideOf = async (name: string, url: string, pids: Side['pids']): Promise<Side> => {
    const talks: Talk[] = []
    for (let at = 0; at <= TOGETHER; at += 1) {
      const talk = stack.use(await Talk.open(url, model, dir.file('work', `${name}-${at}`)))
      await talk.turn()
      talks.push(talk)
    }
    return { single: talks.pop()!, talks, pids }
  }
  const memory = (await residentMb(one.nodes[0]!.pid)) - (await residentMb(alone.process.pid!))
  const sides = {
    sqlite: await sideOf('sqlite', alone.url, () => [alone.process.pid!]),
    one: await sideOf('one', one.proxy.url, fleetPids(one)),
    three: await sideOf('three', three.proxy.url, fleetPids(three)),
  }
  const rounds: Record<keyof typeof sides, Round[]> = { sqlite: [], one: [], three: [] }
  const names = Object.keys(sides) as (keyof typeof sides)[]
  // The order alternates, so that a machine that slows down harms all alike.
  for (let round = 0; round < ROUNDS; round += 1)
    for (const name of round % 2 === 0 ? names : names.toReversed()) rounds[name].push(await measure(sides[name]))
  const ratio = (of: keyof typeof sides, to: keyof typeof sides, figure: keyof Round) =>
    median(rounds[of].map((each, at) => each[figure] / rounds[to][at]![figure]))
  const figure = (of: keyof typeof sides, name: keyof Round) => median(rounds[of].map((each) => each[name])).toFixed(1)
  return [
    row('R1 one node, PostgreSQL against SQLite: one turn, p50', ratio('one', 'sqlite', 'oneMs'), 1.3),
    rowAtLeast('R1 one node, PostgreSQL against SQLite: rate of sixteen turns', ratio('one', 'sqlite', 'rate'), 0.7),
    rowAtLeast('R2 three nodes against one: rate of sixteen turns', ratio('three', 'one', 'rate'), 0.8),
    row('R2 three nodes against one: processor time per turn', ratio('three', 'one', 'cpuMs'), 1.25),
    row('R8 idle memory of a node: PostgreSQL above SQLite', memory, 15, 'MB'),
    row('R8 start of a node: PostgreSQL above SQLite', await startDifference(one, dir.file('starts')), 60, 'ms'),
    note(
      'one turn p50, sixteen turns, processor time (SQLite, one, three)',
      names.map((of) => `${figure(of, 'oneMs')} ms ${figure(of, 'rate')}/s ${figure(of, 'cpuMs')} ms`).join('; '),
    ),
  ]
}

/** Milliseconds that a start on PostgreSQL takes longer than one on SQLite. */
async function startDifference(fleet: Fleet, dataDir: string): Promise<number> {
  const differences: number[] = []
  const node = await fleet.addNode()
  for (let round = 0; round < ROUNDS; round += 1) {
    const from = performance.now()
    await node.start()
    const postgresMs = performance.now() - from
    await node.drain()
    const server = await sqlite(dataDir)
    differences.push(postgresMs - server.readyMs)
    await server[Symbol.asyncDispose]()
  }
  return median(differences.slice(1))
}
