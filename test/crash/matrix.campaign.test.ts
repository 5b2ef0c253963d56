/**
 * The crash matrix: a server ends while calls of every executor are under way; the next one finds their records intact, damaged,
 * lost or exchanged. No call is executed twice, and one whose outcome no record proves is unknown.
 * `restore.test.ts` restores a store elsewhere while the first server continues.
 * Source: docs/architecture.md, Recovery; docs/operations.md, Backup.
 *
 * Every row is a call at the moment of the end, every column a state of the records:
 *
 *   intact    as the server left them
 *   aged      the call ledger with all times moved back by a week, and the times of all files of the data directory
 *   missing   the folder of the runner is lost: its ledger, and the mark that ties the data directory to its store
 *   removed   the ledger alone is lost
 *   cut       the ledger ends within its newest intent, that of `terminal-running`; all later lines are lost
 *   damaged   that intent is damaged; later lines, such as the end of `bash-ended`, are whole
 *   foreign   the ledger of another data directory
 *   older     the folder of the runner as it was before the last start of the server
 *   newer     the store as it was at the end, put back after another server has recovered all calls: the other records are newer
 *   copied    the store from a copy that was made while the calls were under way; they all ended in the same run of the server, and
 *             none of their results was stored
 *   alone     nothing is left of the data directory but the store and its key
 *
 * and every cell what the next server has to report:
 *
 *   once      the result of the only execution
 *   now       the call had not begun, and is executed now
 *   unknown   the outcome is unknown; the call is not executed, or not again
 *   either    `now` or `unknown`, which depends on whether a runner that has found the damage was asked before
 *
 * Cells that do not exist:
 *
 *   - A living runner holds its ledger open and does not read it again, and damage that a crash of the machine does is found by a
 *     runner that starts. Only the loss of the file and a restored store concern a living runner.
 *   - The notes of the file editor and of remote workspaces are rows of the store. They are lost, damaged or foreign only together
 *     with it; `newer` and `copied` are stores that lack some of them.
 *   - `bash-waiting` exists after a kill only: otherwise a stored command is sent to the runner before the server ends. Commands
 *     outside conversations cannot be paused.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { byForm } from '../../packages/server/testing/campaign.ts'
import { executedBefore, type Call, type Seen } from './matrix/calls.ts'
import { Crash, openSurroundings, type CrashSpec, type Ending, type Surroundings } from './matrix/crash.ts'
import type { Records } from './matrix/records.ts'

type Outcome = 'once' | 'now' | 'unknown' | 'either'
type Cell = { records: Records; call: Call; outcome: Outcome }

const RUNNER_KILLED = cellsOf(`
                         intact   newer    aged     missing  cut      damaged  foreign  older    alone
  terminal-ended         once     once     once     unknown  once     once     unknown  unknown  unknown
  terminal-running       unknown  unknown  unknown  unknown  unknown  unknown  unknown  unknown  unknown
  terminal-waiting       now      once     now      unknown  unknown  unknown  unknown  unknown  unknown
  editor-ended           once     once     once     once     once     once     once     once     once
  editor-waiting         now      unknown  now      unknown  unknown  unknown  unknown  unknown  unknown
  bash-ended             once     once     once     unknown  unknown  once     unknown  unknown  unknown
  bash-running           unknown  unknown  unknown  unknown  unknown  unknown  unknown  unknown  unknown
  bash-waiting           now      once     now      unknown  unknown  unknown  unknown  unknown  unknown
  remote-ended           once     once     once     once     once     once     once     once     once
  remote-running         once     once     once     once     once     once     once     once     once
  remote-waiting         now      unknown  now      unknown  either   either   unknown  unknown  unknown
  remote-editor-ended    once     once     once     once     once     once     once     once     once
  remote-editor-waiting  now      unknown  now      unknown  either   either   unknown  unknown  unknown
  stdio-ended            unknown  unknown  unknown  unknown  unknown  unknown  unknown  unknown  unknown
  stdio-running          unknown  unknown  unknown  unknown  unknown  unknown  unknown  unknown  unknown
  stdio-waiting          unknown  unknown  unknown  unknown  unknown  unknown  unknown  unknown  unknown
  http-running           unknown  unknown  unknown  unknown  unknown  unknown  unknown  unknown  unknown
  http-waiting           unknown  unknown  unknown  unknown  unknown  unknown  unknown  unknown  unknown
`)

/** A runner that lives names the calls that it has begun, and what it does not name is proven by its ledger only. */
const RUNNER_ALIVE = cellsOf(`
                         intact   newer    removed
  terminal-ended         once     once     once
  terminal-running       once     once     once
  terminal-waiting       now      once     unknown
  editor-ended           once     once     once
  editor-waiting         now      unknown  unknown
  bash-ended             once     once     once
  bash-running           once     once     once
  bash-waiting           now      once     unknown
  remote-ended           once     once     once
  remote-running         once     once     once
  remote-waiting         now      unknown  unknown
  remote-editor-ended    once     once     once
  remote-editor-waiting  now      unknown  unknown
  stdio-ended            unknown  unknown  unknown
  stdio-running          unknown  unknown  unknown
  stdio-waiting          unknown  unknown  unknown
  http-running           unknown  unknown  unknown
  http-waiting           unknown  unknown  unknown
`)

/** A call that had not begun in the copy was executed since: the ledger knows commands, and nothing knows the rest. */
const COPIED = cellsOf(`
                         copied
  terminal-ended         once
  terminal-running       once
  terminal-waiting       once
  editor-ended           once
  editor-waiting         unknown
  bash-ended             once
  bash-running           once
  remote-ended           once
  remote-running         once
  remote-waiting         unknown
  remote-editor-ended    once
  remote-editor-waiting  unknown
  stdio-ended            unknown
  stdio-running          unknown
  stdio-waiting          unknown
  http-running           unknown
  http-waiting           unknown
`)

const ENDINGS: Record<Ending, string> = {
  kill: 'kill -9',
  SIGTERM: 'SIGTERM',
  pause: 'a pause and SIGTERM',
}
const RECORDS: Record<Records, string> = {
  intact: 'with intact records',
  aged: 'with records that are a week old',
  missing: 'without the folder of the runner',
  removed: 'without the call ledger',
  cut: 'with a call ledger that is cut off',
  damaged: 'with a damaged line in the call ledger',
  foreign: 'with the call ledger of another data directory',
  older: 'with the folder of the runner from before the last start',
  copied: 'with a store from before the end of the calls',
  newer: 'with a store from before the recovery',
  alone: 'with nothing but the store and its key',
}
const EXECUTORS: Record<string, string> = {
  terminal: 'a command of the terminal',
  editor: 'an edit of the file editor',
  bash: 'a command outside conversations',
  remote: 'a command in a remote workspace',
  'remote-editor': 'an edit in a remote workspace',
  stdio: 'a call of an MCP program',
  http: 'a call of an MCP server with an address',
}
const MOMENTS: Record<string, string> = {
  ended: 'had ended without a stored result',
  running: 'was running',
  waiting: 'had not begun',
}
const OUTCOMES: Record<Outcome, string> = {
  once: 'has the result of its only execution',
  now: 'is executed now',
  unknown: 'is reported as unknown and is not executed',
  either: 'is executed now, or is reported as unknown and is not executed',
}

/** The cells of a table, by column. */
function cellsOf(table: string): Map<Records, Cell[]> {
  const [columns = [], ...rows] = table
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
  return new Map(
    (columns as Records[]).map((records, at) => [
      records,
      rows.map(([call, ...outcomes]) => ({ records, call: call as Call, outcome: outcomes[at] as Outcome })),
    ]),
  )
}

/** One crash for the columns that can share it. */
type Group = CrashSpec & { columns: Map<Records, Cell[]> }

const only = (table: Map<Records, Cell[]>, ...columns: Records[]) =>
  new Map([...table].filter(([records]) => columns.includes(records)))

const ALL_ENDINGS: readonly Ending[] = ['kill', 'SIGTERM', 'pause']
/**
 * The short form plays one crash with all calls and two states of the records. With intact records every call has the outcome that
 * its own record gives; without the folder of the runner all of them that need the ledger as a proof are unknown. So each executor,
 * each moment and each outcome occurs, and a call that is executed twice or reported wrongly fails here. The other states of the
 * records, endings, and the living runner, are other ways to one of these outcomes; only the campaign plays them.
 */
const GROUPS: readonly Group[] = byForm<readonly Group[]>({
  test: [{ ending: 'kill', runner: 'killed', columns: only(RUNNER_KILLED, 'intact', 'missing') }],
  campaign: [
    { ending: 'kill', runner: 'killed', isCopied: true, columns: COPIED },
    ...ALL_ENDINGS.flatMap((ending): Group[] => [
      { ending, runner: 'killed', columns: RUNNER_KILLED },
      { ending, runner: 'alive', columns: only(RUNNER_ALIVE, 'intact', 'newer') },
      { ending, runner: 'alive', columns: only(RUNNER_ALIVE, 'removed') },
    ]),
  ],
})
/** Crashes that are played at the same time. */
const AT_ONCE = 3
/** Milliseconds for all of them. */
const LIMIT_MS = 600_000

type Results = Partial<Record<Call, Seen>>
const results = new Map<string, PromiseWithResolvers<Results>>()
const keyOf = ({ ending, runner }: Group, records: Records): string => `${ending} ${runner} ${records}`
for (const group of GROUPS) {
  for (const records of group.columns.keys()) {
    const result = Promise.withResolvers<Results>()
    // A failure is reported by the cells that it concerns.
    result.promise.catch(() => undefined)
    results.set(keyOf(group, records), result)
  }
}

/** Plays one crash and all its recoveries, one after another. */
async function play(group: Group, around: Surroundings): Promise<void> {
  const columns = [...group.columns.keys()]
  try {
    await using crash = await Crash.open({ ...group, hasEarlier: group.columns.has('older') }, around)
    for (const records of columns) results.get(keyOf(group, records))?.resolve(await crash.recover(records))
  } catch (error) {
    for (const records of columns) results.get(keyOf(group, records))?.reject(error)
  }
}

const waiting = [...GROUPS]
const worker = async (around: Surroundings): Promise<void> => {
  for (let group = waiting.shift(); group !== undefined; group = waiting.shift()) await play(group, around)
}
let around: Surroundings
let played: Promise<unknown> = Promise.resolve()

beforeAll(async () => {
  around = await openSurroundings()
  played = Promise.all(Array.from({ length: AT_ONCE }, () => worker(around)))
}, LIMIT_MS)
afterAll(async () => {
  await played
  await around[Symbol.asyncDispose]()
}, LIMIT_MS)

for (const group of GROUPS) {
  const after = `after ${ENDINGS[group.ending]} ${group.runner === 'killed' ? 'and the death of the runner' : 'beside a living runner'}`
  for (const cell of [...group.columns.values()].flat().filter((each) => isValid(group, each))) {
    const { records, call, outcome } = cell
    const [, executor = '', moment = ''] = /^(.*)-(\w+)$/.exec(call) ?? []
    const again = outcome === 'unknown' && executedBefore(call) ? ' again' : ''
    test(
      `${after}, ${RECORDS[records]}, ${EXECUTORS[executor]} that ${MOMENTS[moment]} ${OUTCOMES[outcome]}${again}`,
      async () => {
        const seen = (await results.get(keyOf(group, records))!.promise)[call]
        expect(expected(cell)).toContainEqual(seen)
      },
      LIMIT_MS,
    )
  }
}

function isValid({ ending }: CrashSpec, { call }: Cell): boolean {
  if (call === 'bash-waiting') return ending === 'kill'
  return ending !== 'pause' || !call.startsWith('bash')
}

/** What may be seen of a call in a cell. */
function expected({ records, call, outcome }: Cell): Seen[] {
  const isExecutedSince = records === 'copied' || (records === 'newer' && isExecutedByRecovery(call))
  const before = executedBefore(call) || isExecutedSince ? 1 : 0
  const unknown = { outcome: 'unknown', executions: before }
  const result = { outcome: 'result', executions: 1 }
  if (outcome === 'either') return [unknown, result]
  return [outcome === 'unknown' ? unknown : result]
}

const isExecutedByRecovery = (call: Call): boolean =>
  RUNNER_ALIVE.get('intact')?.some((cell) => cell.call === call && cell.outcome === 'now') === true
