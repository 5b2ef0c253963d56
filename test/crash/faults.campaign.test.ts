/**
 * Random sequences of faults on a real server with a real runner, while conversations work. A failure names its seed, prints the faults
 * with their times, and keeps the directory; `PARLEY_TEST_SEED` repeats it.
 */
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { byForm, form, forSeeds, timeoutFor } from '../../packages/server/testing/campaign.ts'
import { releaseNames, restoreRelease } from '../../packages/server/testing/release-data.ts'
import { startScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { freePort } from '../../packages/server/testing/free-port.ts'
import { tempDir, type TempDir } from '../../packages/server/testing/temp.ts'
import { until } from '../../packages/server/testing/until.ts'
import { recordFacts } from '../facts.ts'
import { check, untilAtRest, type Outcomes } from './faults/checks.ts'
import { FaultyServer } from './faults/faulty-server.ts'
import { FAULTS, LOSES_OUTCOMES, planOf } from './faults/plan.ts'
import { Workload } from './faults/workload.ts'
import { hasFileStore } from '../../packages/server/testing/store-choice.ts'

const FAULTS_PER_SEED = byForm({ test: 4, campaign: 12, soak: 20 })
const BUDGET = byForm({
  test: { seconds: 8, least: 2, atOnce: 2 },
  campaign: { seconds: 180, least: 2, atOnce: 2 },
})
/** Faults that the soak plays, however long that takes. */
const SOAKED_FAULTS = 2_000
const TIMEOUT_MS = byForm({ test: timeoutFor(60), campaign: timeoutFor(300), soak: timeoutFor(3 * 3600) })
const CONVERSATIONS = 5
/** Every third seed begins with the data of a release, which is a SQLite file. */
const OLDER_EVERY = 3
/** An interrupt is answered within five seconds, unless the whole server is frozen: docs/reference/agent-server-wire.md, 10.1. */
const INTERRUPT_MS = 10_000

type Sums = Outcomes & { older: number; slowestEndMs: number; slowestInterruptMs: number; faults: Map<string, number> }

const NOTHING_YET = {
  actions: 0,
  effects: 0,
  unknown: 0,
  approvals: 0,
  messages: 0,
  commands: 0,
  older: 0,
  slowestEndMs: 0,
  slowestInterruptMs: 0,
}

/** Plays one seed. @throws with what happened before the failure */
async function play(seed: number, sums: Sums): Promise<void> {
  const dir = await tempDir()
  const server = new FaultyServer({ dataDir: dir.file('data'), port: await freePort(), clock: dir.file('clock') })
  try {
    await playIn(dir, server, seed, sums)
  } catch (error) {
    const processes = await server.describe().catch(() => [])
    await server.destroy().catch(() => undefined)
    const history = server.history.map(({ ms, what }) => `  ${String(ms).padStart(6)} ms  ${what}`)
    const lines = [
      String(error),
      `in ${dir.path}, which is kept`,
      ...history,
      ...processes,
      server.stderr().slice(-4_000),
    ]
    throw new Error(lines.join('\n'), { cause: error })
  }
  await dir[Symbol.asyncDispose]()
}

async function playIn(dir: TempDir, server: FaultyServer, seed: number, sums: Sums): Promise<void> {
  await using model = await startScriptedModel({ respond: (request) => workload.respond(request) })
  const workload = new Workload(server, model, dir.path, seed)
  const dataDir = dir.file('data')
  const [release] = releaseNames()
  const isOlder = hasFileStore && seed % OLDER_EVERY === 2 && release !== undefined
  const older = isOlder ? await restoreRelease(release, { dataDir, model: model.url, work: dir.file('older') }) : null
  await server.start()
  if (older !== null) {
    server.note(`data of release ${release}`)
    sums.older += 1
    await workload.adopt(older.finished, dir.file('older', 'finished'), false)
    await workload.adopt(older.open, dir.file('older', 'open'), false)
    await workload.adopt(older.waiting, dir.file('older', 'waiting'), true)
  }
  while (workload.talks.length < CONVERSATIONS) await workload.begin()

  const end = new AbortController()
  const playing = workload.play(end.signal)
  playing.catch(() => end.abort())
  try {
    for (const fault of planOf(seed, FAULTS_PER_SEED)) {
      await sleep(fault.afterMs)
      if (end.signal.aborted) break
      await server.apply(fault)
    }
    await server.lift()
  } finally {
    end.abort()
    await playing
  }
  server.note('the last fault is over')
  await untilAtRest(server, workload)
  server.note('every turn has ended')
  const outcomes = await check(server, workload)
  add(sums, outcomes)
  if (LOSES_OUTCOMES.every((kind) => server.counts[kind] === undefined))
    expect(outcomes.unknown, 'calls without a known outcome').toBe(0)
  expect(model.violations).toEqual([])
  sums.slowestInterruptMs = Math.max(sums.slowestInterruptMs, workload.slowestInterruptMs)
  expect(workload.slowestInterruptMs, 'ms until the slowest interrupt was answered').toBeLessThan(INTERRUPT_MS)
  await leaveNothing(server, workload)
  for (const [kind, count] of Object.entries(server.counts)) sums.faults.set(kind, (sums.faults.get(kind) ?? 0) + count)
  sums.slowestEndMs = Math.max(sums.slowestEndMs, server.slowestEndMs)
}

/** Deletes the conversations and ends server and runner. @throws when a process of the seed remains */
async function leaveNothing(server: FaultyServer, workload: Workload): Promise<void> {
  const processes = () => server.processes()
  const others = async () => (await processes()).filter(({ isRunner }) => !isRunner)
  for (const talk of workload.talks) {
    const answer = await server.call('DELETE', `/api/conversations/${talk.id}`)
    const isGone = answer?.status === 200 || (answer?.status === 400 && talk.deletion !== 'none')
    if (!isGone) throw new Error(`DELETE of ${talk.id} is answered with ${JSON.stringify(answer)}`)
    talk.end.abort()
  }
  await until(async () => (await others()).length === 0).catch(async () => {
    throw new Error(`processes of deleted conversations remain: ${JSON.stringify(await others())}`)
  })
  await server.terminate()
  const runner = await server.runner()
  if (runner !== null) process.kill(runner, 'SIGTERM')
  await until(async () => (await processes()).length === 0).catch(async () => {
    throw new Error(`processes remain after the end: ${JSON.stringify(await processes())}`)
  })
}

function add(sums: Sums, { errors, ...counts }: Outcomes): void {
  for (const [name, count] of Object.entries(counts) as [keyof typeof counts, number][]) sums[name] += count
  sums.errors.push(...errors)
}

test(
  'after any sequence of faults nothing acknowledged is lost, no effect is doubled or unapproved, no process remains, and every turn ends',
  async () => {
    const began = performance.now()
    const sums: Sums = {
      ...NOTHING_YET,
      errors: [],
      faults: new Map(),
    }
    const played = () => [...sums.faults.values()].reduce((sum, count) => sum + count, sums.older)
    const budget = form === 'soak' ? { ...BUDGET, isEnough: () => played() >= SOAKED_FAULTS } : BUDGET
    const seeds = await forSeeds(budget, (seed) => play(seed, sums))
    const { faults, errors, slowestEndMs, slowestInterruptMs, older, ...counts } = sums
    const figures = {
      form,
      seeds,
      faults: played(),
      ...Object.fromEntries(FAULTS.map((kind) => [kind.replaceAll(' ', '_'), faults.get(kind) ?? 0])),
      older_data: older,
      ...counts,
      errors: errors.length,
      slowest_end_ms: Math.round(slowestEndMs),
      slowest_interrupt_ms: Math.round(slowestInterruptMs),
      seconds: Math.round((performance.now() - began) / 1000),
    }
    console.log(JSON.stringify(figures), [...new Set(errors)])
    recordFacts('faults', { ...figures, measured_at: new Date().toISOString() })
    expect(sums.effects).toBeGreaterThan(seeds)
    expect(sums.errors, 'turns that ended with an error').toEqual([])
  },
  TIMEOUT_MS,
)

test('the checks notice an effect that is doubled, lost, or not stored', async () => {
  await using dir = await tempDir()
  const server = new FaultyServer({ dataDir: dir.file('data'), port: await freePort(), clock: dir.file('clock') })
  await using _end = { [Symbol.asyncDispose]: () => server.destroy() }
  await using model = await startScriptedModel({ respond: (request) => workload.respond(request) })
  const workload = new Workload(server, model, dir.path, 1)
  await server.start()
  const talk = await workload.begin(false)
  const trace = join(talk.work, 'trace')
  do {
    await workload.say(talk)
    await untilAtRest(server, workload)
  } while (!existsSync(trace))
  expect((await check(server, workload)).effects).toBeGreaterThan(0)
  const written = await readFile(trace, 'utf8')
  const [first] = written.split('\n')
  for (const [text, message] of [
    [`${written}${first}\n`, 'executed: '],
    [written.replace(`${first}\n`, ''), 'executed: '],
    [`${written}L999\n`, 'which is not stored'],
  ] as const) {
    await writeFile(trace, text)
    await expect(check(server, workload)).rejects.toThrow(message)
  }
  talk.end.abort()
}, 60_000)
