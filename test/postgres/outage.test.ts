/** Servers whose database cannot be reached, or has a full disk: docs/operations.md, When the store refuses writes. */
import { execFileSync } from 'node:child_process'
import { chownSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { byForm, timeoutFor } from '../../packages/server/testing/campaign.ts'
import { conversation, message, start, starting } from '../../packages/server/testing/conversations.ts'
import { postgresServer } from '../../packages/server/testing/postgres-server.ts'
import { testDatabase } from '../../packages/server/testing/postgres.ts'
import { startRelay } from '../../packages/server/testing/relay.ts'
import { startScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { startServerProcess, TEST_KEY, type ServerProcess } from '../../packages/server/testing/server-process.ts'
import { tempDir, type TempDir } from '../../packages/server/testing/temp.ts'
import { until } from '../../packages/server/testing/until.ts'

/** Programs of the machine, not of a package. */
const [MOUNT, UNMOUNT]: [string, string] = ['mount', 'umount']

/** Commands of each turn, and the one whose record the database refuses. */
const STEPS = 6
const AT_FAULT = 3
const RUNS = 3
/** Seconds without the database. */
const SECONDS = byForm({ test: 10, campaign: 10, soak: 30 })

/** Turns that wait at one step until `fault` has begun. */
async function workingServer(dir: TempDir, url: string) {
  await using stack = new AsyncDisposableStack()
  const fault = Promise.withResolvers<void>()
  const model = stack.use(
    await startScriptedModel({
      respond: async ({ view }) => {
        const step = view.toolResults.length + 1
        if (step > STEPS) return { text: 'all done' }
        if (step === AT_FAULT) await fault.promise
        return { toolCalls: [{ name: 'terminal', arguments: { command: `echo ${step} >> trace` } }] }
      },
    }),
  )
  const server = stack.use(await startServerProcess({ dataDir: dir.file('data'), env: { PARLEY_DATABASE_URL: url } }))
  const runs = []
  for (let run = 0; run < RUNS; run++)
    runs.push(await start(server, starting(model, dir.file(`work-${run}`), { initial_message: message('go') })))
  const asked = () => model.requests.filter(({ view }) => view.toolResults.length === AT_FAULT - 1).length
  await until(() => asked() === RUNS)
  const owned = stack.move()
  return { server, model, runs, fault, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

type Working = Awaited<ReturnType<typeof workingServer>>
type Answer = { path: string; status: number; retryAfter: string | null; text: string }

/** Requests that read and write. */
async function askAll({ url }: ServerProcess, id: string, folder: string): Promise<Answer[]> {
  const asks: [method: string, path: string, body?: object][] = [
    ['GET', '/api/conversations/search'],
    ['GET', `/api/conversations/${id}/events/search`],
    ['GET', '/api/settings'],
    ['POST', '/api/secrets', { name: `S${Math.random().toString(36).slice(2)}`, value: 'x' }],
    [
      'POST',
      '/api/conversations',
      { workspace: { working_dir: folder }, agent: { kind: 'Agent', llm: { model: 'openai/none' } } },
    ],
    ['POST', `/api/conversations/${id}/events`, { ...message('and more'), run: false }],
  ]
  return Promise.all(
    asks.map(async ([method, path, body]) => {
      const headers = { 'X-Session-API-Key': TEST_KEY, 'Content-Type': 'application/json' }
      const answer = await fetch(url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
      const retryAfter = answer.headers.get('retry-after')
      return { path, status: answer.status, retryAfter, text: await answer.text() }
    }),
  )
}

/** No answer is an error of the server, and those that say so name the remedy. */
function expectHonest(answers: readonly Answer[], remedy: RegExp): void {
  for (const { path, status, retryAfter, text } of answers) {
    if (status !== 503) expect([path, status, status < 500]).toEqual([path, status, true])
    else expect([path, text, retryAfter]).toEqual([path, expect.stringMatching(remedy), expect.stringMatching(/^\d+$/)])
  }
}

/** Every turn ends as if nothing had happened. Returns the milliseconds until a model was asked again, and until all had ended. */
async function expectContinued({ server, model, runs }: Working, dir: TempDir): Promise<[first: number, all: number]> {
  const from = performance.now()
  const before = model.requests.length
  await until(() => model.requests.length > before, 90_000)
  const first = performance.now() - from
  for (const [run, { id }] of runs.entries()) {
    const it = conversation(server, id)
    await it.is('finished', 'error')
    const events = await it.events()
    expect(events.filter(({ kind }) => /Error/.test(kind))).toEqual([])
    expect((await it.info()).execution_status).toBe('finished')
    const trace = readFileSync(dir.file(`work-${run}`, 'trace'), 'utf8')
    expect(trace).toBe(Array.from({ length: STEPS }, (_, step) => `${step + 1}\n`).join(''))
  }
  return [first, performance.now() - from]
}

const report = (what: string, [first, all]: [number, number]): void =>
  console.log(
    `${what}: a model is asked ${Math.round(first)} ms later, all turns have ended after ${Math.round(all)} ms`,
  )

test(
  'without a database, no turn ends in an error and no request gets 500; everything continues when it is back',
  async () => {
    await using dir = await tempDir()
    await using database = await testDatabase()
    await using relay = await startRelay(database.url)
    const url = new URL(database.url)
    url.port = new URL(relay.url).port
    await using working = await workingServer(dir, String(url))
    const { server, runs, fault } = working
    relay.state = 'refused'
    fault.resolve()
    const end = performance.now() + SECONDS * 1000
    const answers: Answer[] = []
    while (performance.now() < end) {
      answers.push(...(await askAll(server, runs[0]!.id, dir.file('other'))))
      await sleep(200)
    }
    relay.state = 'open'
    report('after the outage', await expectContinued(working, dir))
    expectHonest(answers, /the connection failed|database \S+:/)
    expect(answers.some(({ status }) => status === 503)).toBe(true)
    expect((await askAll(server, runs[0]!.id, dir.file('other'))).filter(({ status }) => status >= 400)).toEqual([])
  },
  timeoutFor(SECONDS),
)

/** A file system of a few megabytes for databases; null where this account may not mount one. */
async function smallDisk(dir: TempDir): Promise<(AsyncDisposable & { path: string }) | null> {
  if (process.getuid?.() !== 0 || !(await postgresServer()).isOwn) return null
  const path = dir.file('small')
  mkdirSync(path)
  try {
    execFileSync(MOUNT, ['-t', 'tmpfs', '-o', 'size=24m,mode=0711', 'tmpfs', path], { stdio: 'ignore' })
  } catch {
    return null
  }
  return { path, [Symbol.asyncDispose]: async () => void execFileSync(UNMOUNT, ['-l', path]) }
}

test('a full disk of the database delays turns, requests name the remedy, and everything continues when there is space', async ({
  skip,
}) => {
  await using dir = await tempDir()
  await using disk = await smallDisk(dir)
  if (disk === null) return skip('needs root, to mount a small file system')
  await using admin = await testDatabase({ isNew: true })
  const [{ folder } = { folder: '' }] = await admin.query<{ folder: string }>(
    "SELECT current_setting('data_directory') AS folder",
  )
  const { uid, gid } = statSync(folder)
  chownSync(disk.path, uid, gid)
  execFileSync('chmod', ['711', dir.path])
  const name = `small_${process.pid}`
  await admin.query(`CREATE TABLESPACE ${name} LOCATION '${disk.path}'`)
  await admin.query(`CREATE DATABASE ${name} TABLESPACE ${name}`)
  const url = String(Object.assign(new URL(admin.url), { pathname: `/${name}` }))
  try {
    const { default: pg } = await import('pg')
    await using working = await workingServer(dir, url)
    const filler = new pg.Client({ connectionString: url })
    await filler.connect()
    await filler.query('CREATE TABLE public.filler (t text)')
    const isFull = async (bytes: number) =>
      filler
        .query(
          `INSERT INTO public.filler SELECT string_agg(md5(random()::text || n), '') FROM generate_series(1, ${bytes / 32}) n`,
        )
        .then(
          () => false,
          (error: { code?: string }) => error.code === '53100',
        )
    for (const bytes of [1024 * 1024, 64 * 1024, 4096]) while (!(await isFull(bytes)));
    working.fault.resolve()
    // Small rows may still have a place in a page; then requests are stored as usual.
    const answers: Answer[] = []
    await until(async () => {
      answers.push(...(await askAll(working.server, working.runs[0]!.id, dir.file('other'))))
      return answers.filter(({ status }) => status === 503).length > 5
    }, 60_000)
    await filler.query('DROP TABLE public.filler')
    await filler.end()
    report('after the full disk', await expectContinued(working, dir))
    expectHonest(answers, /database \S+: its disk is full: free some space/)
  } finally {
    await admin.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
    await admin.query(`DROP TABLESPACE ${name}`)
  }
}, 120_000)
