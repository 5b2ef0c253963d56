import { cpSync, existsSync, readFileSync, renameSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { DatabaseSync, backup as copyStore } from 'node:sqlite'
import { asConversationId, type Event, newEventId } from '@parley/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { conversation, numbered, otherEvent } from '../../testing/store-fixtures.ts'
import { until } from '../../testing/until.ts'
import { openSqlite, type Storage } from '../storage/index.ts'
import { openCallProof } from './call-proof.ts'
import { ledgerName } from './runner/ipc/names.ts'
import { LEDGER_FILE } from './runner/ledger/ledger.ts'
import { isAlive, never, openTestWorkspaces, processEnd, type TestWorkspaces } from './workspace.testing.ts'
import type { Workspace } from './workspace.ts'

const log = { warn: () => undefined }
const ID = asConversationId('c1')

/** A server on the data directory of `here`: its store, its proof, and the workspace of a conversation with these calls. */
async function server(here: TestWorkspaces, calls: readonly string[]) {
  const stack = new AsyncDisposableStack()
  const storage = stack.use(await openSqlite({ path: here.dir.file('data', 'parley.db') }))
  const proof = stack.use(await openCallProof({ ...storage, dataDir: here.dataDir, log }))
  const events: Event[] = calls.map((id) => ({ ...otherEvent('ActionEvent'), id }) as Event)
  await storage.conversations.create({ ...conversation({ id: ID }), events: numbered(events) })
  const workspaces = here.another({ proof })
  stack.defer(() => workspaces[Symbol.asyncDispose]())
  const workspace = await here.open(ID, 1, workspaces)
  return { storage, proof, workspace, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

async function backup(store: string, to: string): Promise<void> {
  const live = new DatabaseSync(store, { readOnly: true })
  await copyStore(live, to)
  live.close()
}

const stateOf = async (workspace: Workspace, call: string) => (await workspace.ledger([call], never))[call]?.state

async function append(storage: Storage, id: string): Promise<void> {
  const row = await storage.conversations.get(ID)
  const events = numbered([{ ...otherEvent('ActionEvent'), id } as Event], (row?.seq ?? 0) + 1)
  await storage.conversations.append({ id: ID, epoch: row?.epoch ?? 0, expectedSeq: row?.seq ?? 0, events })
}

async function killRunner(here: TestWorkspaces): Promise<void> {
  const pid = (await here.runnerPid()) ?? 0
  process.kill(pid, 'SIGKILL')
  await processEnd(pid)
}

/** A command that counts its executions and does not end. */
const spec = (here: TestWorkspaces, callId: string) => ({
  callId,
  argv: ['sh', '-c', `echo x >>${here.dir.file('count')}; sleep 1000`],
})
const executions = (here: TestWorkspaces) =>
  existsSync(here.dir.file('count')) ? statSync(here.dir.file('count')).size / 2 : 0

/** A data directory whose runner died during the call `begun` and before the call `not`, and copies for the rows below. */
let prepared: { here: TestWorkspaces; begun: string; not: string }
beforeAll(async () => {
  const here = await openTestWorkspaces()
  const [begun, not] = [newEventId(), newEventId()]
  prepared = { here, begun, not }
  {
    await using first = await server(here, [begun, not])
    expect(await stateOf(first.workspace, begun)).toBe('absent')
    await first.workspace.exec({ argv: ['true'] }, never)
    await killRunner(here)
  }
  copyFolder(here.dir.file('data', 'runner'), here.dir.file('copies', 'early', 'runner'))
  {
    await using another = await openTestWorkspaces()
    await using one = await server(another, [newEventId()])
    await one.workspace.exec({ callId: newEventId(), argv: ['true'] }, never)
    copyFolder(another.dir.file('data', 'runner'), here.dir.file('copies', 'other', 'runner'))
  }
  await using second = await server(here, [])
  const lost = expect(second.workspace.exec(spec(here, begun), never)).rejects.toMatchObject({ code: 'unavailable' })
  await until(() => executions(here) === 1)
  await killRunner(here)
  await lost
  for (const pid of here.processes()) process.kill(pid, 'SIGKILL')
  await until(() => here.processes().length === 0)
})
afterAll(() => prepared.here[Symbol.asyncDispose]())

/** Copies a folder without its sockets. */
const copyFolder = (from: string, to: string): void =>
  cpSync(from, to, { recursive: true, filter: (path) => !path.endsWith('.sock') })

const WEEK_MS = 7 * 24 * 60 * 60 * 1_000
type Places = { runner: string; ledger: string; store: string; copy: (name: string) => string }

/**
 * What happens to the records while no server runs, and the states of a call that had begun and of one that had not. `copy`
 * are copies of the data directory: `early` before the call began, `other` of another directory.
 */
test.each<[string, 'unknown' | 'absent', (places: Places) => void]>([
  ['intact', 'absent', () => undefined],
  [
    'aged by a week',
    'absent',
    ({ ledger }) => {
      const aged = readFileSync(ledger, 'utf8').replaceAll(/"at":(\d+)/g, (_, at) => `"at":${Number(at) - WEEK_MS}`)
      writeFileSync(ledger, aged.replaceAll(/,"crc":"\w+"}/g, '}'))
    },
  ],
  ['missing with the folder of the runner', 'unknown', ({ runner }) => rmSync(runner, { recursive: true })],
  ['missing', 'unknown', ({ ledger }) => rmSync(ledger)],
  ['torn', 'unknown', ({ ledger }) => truncateSync(ledger, statSync(ledger).size - 9)],
  ['damaged in the middle', 'unknown', ({ ledger }) => damage(ledger)],
  ['of another data directory', 'unknown', ({ ledger, copy }) => cpSync(copy(`other/runner/${LEDGER_FILE}`), ledger)],
  ['without an id', 'unknown', ({ ledger }) => writeFileSync(ledger, '')],
  [
    'older than the store',
    'unknown',
    ({ runner, copy }) => {
      rmSync(runner, { recursive: true })
      cpSync(copy('early/runner'), runner, { recursive: true })
    },
  ],
])('with a ledger %s, no call that had begun is absent, and one that had not is %s', async (_, other, tamper) => {
  await using here = await openTestWorkspaces()
  const { begun, not } = prepared
  copyFolder(prepared.here.dir.file('data'), here.dir.file('data'))
  const copy = (name: string) => prepared.here.dir.file('copies', name)
  const data = (...names: string[]) => here.dir.file('data', ...names)
  tamper({ runner: data('runner'), ledger: data('runner', LEDGER_FILE), store: data('parley.db'), copy })
  for (let starts = 0; starts < 2; starts++) {
    await using later = await server(here, [])
    expect(await stateOf(later.workspace, begun)).toBe('unknown')
    expect(await stateOf(later.workspace, not)).toBe(other)
    const fresh = newEventId()
    await append(later.storage, fresh)
    expect(await stateOf(later.workspace, fresh)).toBe('absent')
  }
  expect(executions(prepared.here)).toBe(1)
})

test('the next runner ends the commands of a dead one although its folder is lost', async () => {
  await using here = await openTestWorkspaces()
  const begun = newEventId()
  {
    await using first = await server(here, [begun])
    const failed = expect(first.workspace.exec(spec(here, begun), never)).rejects.toMatchObject({ code: 'unavailable' })
    await until(() => executions(here) === 1)
    await killRunner(here)
    await failed
  }
  rmSync(here.dir.file('data', 'runner'), { recursive: true })
  expect(here.processes()).not.toEqual([])
  await using next = await server(here, [])
  const { stdout } = await next.workspace.exec({ argv: ['pwd'] }, never)
  expect(stdout).not.toBe('')
  expect(here.processes()).toEqual([])
})

function damage(ledger: string): void {
  const lines = readFileSync(ledger, 'utf8').split('\n')
  const at = lines.findIndex((line) => line.includes('"begin"'))
  lines[at] = (lines[at] ?? '').slice(0, 20)
  writeFileSync(ledger, lines.join('\n'))
}

test('an older store in its own data directory accepts commands, and the ledger knows what was executed since', async () => {
  await using here = await openTestWorkspaces()
  const [before, since] = [newEventId(), newEventId()]
  const store = here.dir.file('data', 'parley.db')
  {
    await using first = await server(here, [before, since])
    await first.workspace.exec({ callId: before, argv: ['true'] }, never)
  }
  cpSync(store, here.dir.file('backup.db'))
  {
    await using second = await server(here, [])
    await second.workspace.exec({ callId: since, argv: ['sh', '-c', 'exit 3'] }, never)
  }
  for (const suffix of ['-wal', '-shm']) rmSync(`${store}${suffix}`, { force: true })
  cpSync(here.dir.file('backup.db'), store)
  await using third = await server(here, [])
  const entries = await third.workspace.ledger([before, since], never)
  expect(entries).toMatchObject({ [before]: { state: 'exited' }, [since]: { state: 'exited', exit_code: 3 } })
  expect(await third.workspace.exec({ argv: ['echo', 'works'] }, never)).toMatchObject({ stdout: 'works\n' })
})

test('without a restart in between, an older store in its own data directory is noticed by the notes that it does not have', async () => {
  await using here = await openTestWorkspaces()
  const [open, later] = [newEventId(), newEventId()]
  const store = here.dir.file('data', 'parley.db')
  const note = { kind: 'file_editor' as const, text: 'sealed' }
  {
    await using first = await server(here, [open])
    await backup(store, here.dir.file('backup.db'))
    await first.proof.noted(await first.storage.notes.put({ id: ID, epoch: 0 }, { ...note, about: open }))
  }
  for (const suffix of ['-wal', '-shm']) rmSync(`${store}${suffix}`, { force: true })
  cpSync(here.dir.file('backup.db'), store)
  for (let starts = 0; starts < 2; starts++) {
    await using second = await server(here, [])
    expect(await stateOf(second.workspace, open)).toBe('unknown')
    if (starts > 0) continue
    await append(second.storage, later)
    await second.proof.noted(await second.storage.notes.put({ id: ID, epoch: 0 }, { ...note, about: later }))
    expect(await stateOf(second.workspace, later)).toBe('absent')
  }
})

test.each<[string, 'unknown' | 'absent', (witness: string) => void]>([
  ['intact', 'absent', () => undefined],
  ['lower, as after a power cut', 'absent', (witness) => writeFileSync(witness, '0'.padStart(16))],
  ['missing', 'unknown', (witness) => rmSync(witness)],
  ['unreadable', 'unknown', (witness) => writeFileSync(witness, '12 ?')],
  ['higher than in the store', 'unknown', (witness) => writeFileSync(witness, '2'.padStart(16))],
])('with a number of the newest note that is %s, a call without a record is %s', async (_, state, tamper) => {
  await using here = await openTestWorkspaces()
  const call = newEventId()
  {
    await using first = await server(here, [call])
    const note = { kind: 'file_editor' as const, text: 'sealed', about: newEventId() }
    await first.proof.noted(await first.storage.notes.put({ id: ID, epoch: 0 }, note))
  }
  tamper(here.dir.file('data', 'runner', 'notes'))
  await using second = await server(here, [])
  expect(await stateOf(second.workspace, call)).toBe(state)
})

test('a call whose runner and ledger were lost while the server lived is not begun again by a repeated request', async () => {
  await using here = await openTestWorkspaces()
  const call = newEventId()
  await using one = await server(here, [call])
  const lost = expect(one.workspace.exec(spec(here, call), never)).rejects.toMatchObject({ code: 'unavailable' })
  await until(() => executions(here) === 1)
  await killRunner(here)
  await lost
  rmSync(here.dir.file('data', 'runner', LEDGER_FILE))
  for (let repeated = 0; repeated < 2; repeated++) {
    await expect(one.workspace.exec(spec(here, call), never)).rejects.toMatchObject({
      code: 'conflict',
      details: { reason: 'unknown_outcome' },
    })
  }
  expect(executions(here)).toBe(1)
})

test('a living runner whose ledger was removed knows the call that it runs and ends it on release; no other call is absent', async () => {
  await using here = await openTestWorkspaces()
  const [begun, not] = [newEventId(), newEventId()]
  {
    await using first = await server(here, [begun, not])
    first.workspace.exec(spec(here, begun), never).catch(() => undefined)
    await until(() => executions(here) === 1)
  }
  rmSync(here.dir.file('data', 'runner', LEDGER_FILE))
  await using later = await server(here, [])
  expect(await stateOf(later.workspace, begun)).toBe('running')
  expect(await stateOf(later.workspace, not)).toBe('unknown')
  await later.workspace.release()
  expect(here.processes()).toEqual([])
  expect(executions(here)).toBe(1)
})

test.each([
  ['has ended', 'absent', false],
  ['has ended and whose ledger is torn', 'unknown', true],
] as const)(
  'with the ledger of a runner of another protocol that %s, a call that had not begun is %s',
  async (_, other, isTorn) => {
    await using here = await openTestWorkspaces()
    const [done, not] = [newEventId(), newEventId()]
    const ledger = (name: string) => here.dir.file('data', 'runner', name)
    {
      await using first = await server(here, [done, not])
      await first.workspace.exec({ callId: done, argv: ['sh', '-c', 'exit 3'] }, never)
      await killRunner(here)
    }
    renameSync(ledger(LEDGER_FILE), ledger(ledgerName(3)))
    if (isTorn) writeFileSync(ledger(ledgerName(3)), '{"t":"begin","conv', { flag: 'a' })
    for (let starts = 0; starts < 2; starts++) {
      await using later = await server(here, [])
      const entries = await later.workspace.ledger([done, not], never)
      expect(entries).toMatchObject({ [done]: { state: 'exited', exit_code: 3 }, [not]: { state: other } })
    }
    expect(existsSync(ledger(ledgerName(3)))).toBe(false)
  },
)

test('a crash at any point of a start leaves a store and a data directory that belong together', async () => {
  await using here = await openTestWorkspaces()
  const call = newEventId()
  {
    await using first = await server(here, [call])
    await first.workspace.exec({ argv: ['true'] }, never)
  }
  const mark = here.dir.file('data', 'runner', 'mark')
  const path = here.dir.file('data', 'parley.db')
  for (const crashAfter of ['the store names the new mark', 'the file has it'] as const) {
    await using storage = await openSqlite({ path })
    const stored = await storage.calls.directory()
    if (stored === null) throw new Error('no row')
    await storage.calls.setDirectory({ ...stored, nextMark: stored.mark + 1 }, true)
    if (crashAfter === 'the file has it') writeFileSync(mark, String(stored.mark + 1))
    await storage[Symbol.asyncDispose]()
    await using later = await server(here, [])
    expect(later.proof.start, crashAfter).toBeGreaterThan(stored.mark)
    expect(await stateOf(later.workspace, call), crashAfter).toBe('absent')
  }
  expect(isAlive((await here.runnerPid()) ?? 0)).toBe(true)
})

test('store and data directory have a new mark before the first call of a start begins', async () => {
  await using here = await openTestWorkspaces()
  const marks = async ({ storage }: { storage: Storage }) => ({
    file: Number(readFileSync(here.dir.file('data', 'runner', 'mark'), 'utf8')),
    store: (await storage.calls.directory())?.mark,
  })
  {
    await using first = await server(here, [newEventId()])
    expect(await marks(first), 'the first start of a directory').toEqual({ file: 1, store: 1 })
  }
  await using second = await server(here, [])
  await second.workspace.exec({ argv: ['true'] }, never)
  expect(await marks(second)).toEqual({ file: 2, store: 2 })
  expect(second.proof.start).toBe(2)
})

test('a start without a call changes the mark as well, so that an older store is noticed later', async () => {
  await using here = await openTestWorkspaces()
  {
    await using first = await server(here, [newEventId()])
    expect(first.proof.start).toBe(1)
  }
  await using second = await server(here, [])
  await until(async () => (await second.storage.calls.directory())?.mark === 2)
})
