/** A data directory of release 0.1.0 with a command that was open in its call ledger. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { RELEASE_KEY, restoreRelease } from '../../packages/server/testing/release-data.ts'
import { startRunning } from '../../packages/server/testing/restartable-server.ts'

/** Number of lines of a file; 0 for a missing one. */
const lines = async (path: string) => (await readFile(path, 'utf8').catch(() => '')).split('\n').length - 1

const LAST_EVENT = `SELECT e.event FROM events e JOIN conversations c ON c.n = e.conversation
  WHERE c.id = ? ORDER BY e.seq DESC`

/** The result of a terminal call as release 0.1.0 wrote it into its call ledger. */
const result = (output: string) => ({
  exit_code: 3,
  signal: null,
  answer: {
    outcome: 'exited',
    limit: null,
    exit_code: 3,
    working_dir: '/',
    pid: 7,
    shell: { user: 'ada', host: 'here', python: null },
    busyWith: null,
  },
  stdout: { kind: 'inline', data: Buffer.from(output).toString('base64'), chars: output.length },
  stderr: null,
})

test.each([
  ['had begun and whose process is gone is unknown', false],
  ['had ended is reported with its result', true],
])('a command that by the ledger of release 0.1.0 %s, and it is not executed again', async (_, hasEnded) => {
  await using server = await startRunning(() => ({ text: 'Done.' }), { PARLEY_SECRET_KEY: RELEASE_KEY })
  const dataDir = server.file('data')
  let open = ''
  await server.restart(async () => {
    ;({ open } = await restoreRelease('0.1.0', { dataDir, model: server.model.url, work: server.file('work') }))
    using database = new DatabaseSync(server.file('data', 'parley.db'))
    const { event } = database.prepare(LAST_EVENT).get(open) as { event: string }
    const { id: call } = JSON.parse(event) as { id: string }
    const at = Date.now()
    const ledger = [
      { t: 'claim', conversation: open, epoch: 1, at },
      { t: 'begin', conversation: open, call, at },
      ...(hasEnded ? [{ t: 'end', conversation: open, call, at, result: result('output of 0.1.0\n') }] : []),
    ]
    const runner = server.file('data', 'runner')
    rmSync(runner, { recursive: true, force: true })
    mkdirSync(runner, { mode: 0o700 })
    writeFileSync(`${runner}/ledger.ndjson`, ledger.map((line) => `${JSON.stringify(line)}\n`).join(''))
  })
  await server.until(open, 'finished')
  expect(await lines(server.file('work', 'open', 'opened.txt'))).toBe(0)
  const events = await server.events(open)
  const observed = events.filter(({ kind }) => kind === 'ObservationEvent').at(-1)?.observation
  const unknown = events.filter(({ kind }) => kind === 'AgentErrorEvent')
  if (!hasEnded) return expect(unknown).toHaveLength(1)
  expect(unknown).toEqual([])
  expect(observed).toMatchObject({ exit_code: 3 })
  expect(JSON.stringify(observed)).toContain('output of 0.1.0')
})
