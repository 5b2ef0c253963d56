import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { byForm, form, forSeeds } from '../../packages/server/testing/campaign.ts'
import { run } from '../../packages/server/testing/conversation-starts.ts'
import { fileTree } from '../../packages/server/testing/file-tree.ts'
import { random } from '../../packages/server/testing/random-history.ts'
import { startRunning, type Running } from '../../packages/server/testing/restartable-server.ts'

const CAMPAIGN = byForm({
  test: { seconds: 0 },
  campaign: { seconds: 30, least: 2, atOnce: 2 },
  // Until enough is checked.
  soak: { seconds: 0, atOnce: 2 },
})
/** Moves of one seed; a third of them are forks and restores. */
const MOVES = byForm({ test: 12, campaign: 30 })
/** Forks and restores that are checked at least. */
const LEAST_CHECKED = byForm({ test: 1, campaign: 10, soak: 1_000 })
const LIMIT_SECONDS = byForm({ test: 60, campaign: 300, soak: 1_800 })

const COMMANDS = [
  (n: number) => `echo ${n} >file-${n % 4}`,
  (n: number) => `mkdir -p dir-${n % 3}/deep && echo ${n} >dir-${n % 3}/deep/file`,
  (n: number) => `rm -rf file-${n % 4} dir-${n % 3}`,
  (n: number) => `ln -sfn file-${n % 4} link-${n % 2}`,
  (n: number) => `rm -rf swap; if [ ${n % 2} = 0 ]; then mkdir swap; echo ${n} >swap/in; else echo ${n} >swap; fi`,
  (n: number) => `git init -q nested-${n % 2}; echo ${n} >nested-${n % 2}/file`,
  (n: number) => `echo ${n} >skipped.ign; mkdir -p ignored; echo ${n} >ignored/x; chmod +x file-* 2>/dev/null`,
  () => 'true',
  () => 'false',
]

const isIgnored = (path: string) => path.endsWith('.ign') || path === 'ignored'
const filesIn = (dir: string) => fileTree(dir, isIgnored)

/** One conversation, and the files that are expected at its events. `end`: the leaf, while it is the newest event of any branch. */
type Known = { id: string; work: string; expected: Map<string, Record<string, string>>; end: string | null }

async function start(server: Running): Promise<Known> {
  const id = await server.start({ file_checkpoints: true })
  const work = server.work(id)
  mkdirSync(work, { recursive: true })
  writeFileSync(join(work, '.gitignore'), '*.ign\nignored\n')
  return { id, work, expected: new Map(), end: null }
}

/** A turn with one command. Its message belongs to the files before, everything after it to those it leaves. */
async function turn(server: Running, known: Known, command: string): Promise<void> {
  const { id, work, expected } = known
  const before = filesIn(work)
  const earlier = new Set((await server.events(id)).map((event) => event.id))
  await server.say(id, `RUN ${command}`)
  await server.until(id, 'finished')
  const after = filesIn(work)
  for (const event of await server.events(id)) {
    if (earlier.has(event.id)) continue
    if (event.kind === 'MessageEvent' && event.source === 'user') expected.set(event.id, before)
    if (event.kind === 'ObservationEvent') expected.set(event.id, after)
    if (event.kind !== 'MessageEvent' || event.source !== 'agent') continue
    expected.set(event.id, after)
    known.end = event.id
  }
}

/** A person changes files between two turns. */
function edit(work: string, n: number): void {
  const path = join(work, `file-${n % 4}`)
  if (n % 5 === 0) rmSync(path, { force: true })
  else if (n % 5 === 1 && !existsSync(join(work, 'by-hand'))) symlinkSync('/etc', join(work, 'by-hand'))
  else writeFileSync(path, `by hand ${n}`)
}

/** Restores the files of an event. Those that were there before belong to the event that they followed, also edited ones. */
async function restore(server: Running, known: Known, event: string): Promise<void> {
  const before = filesIn(known.work)
  const { status } = await server.call('POST', `/api/conversations/${known.id}/navigate`, {
    event_id: event,
    restore_files: true,
  })
  expect(status).toBe(200)
  expect(filesIn(known.work)).toEqual(known.expected.get(event))
  if (known.end !== null) known.expected.set(known.end, before)
  known.end = null
}

/** Forks at an event, and returns the fork. */
async function fork(server: Running, known: Known, event: string): Promise<Known> {
  const { status, body } = await server.call('POST', `/api/conversations/${known.id}/fork`, { from_event_id: event })
  expect(status).toBe(201)
  const work = body.workspace.working_dir as string
  expect(filesIn(work)).toEqual(known.expected.get(event))
  const ids = new Set((await server.events(body.id)).map(({ id }) => id))
  const expected = new Map([...known.expected].filter(([id]) => ids.has(id)))
  return { id: body.id, work, expected, end: null }
}

/** Plays one seed; returns how many forks and restores it has checked. */
async function play(seed: number): Promise<number> {
  const next = random(seed * 7919)
  await using server = await startRunning(({ body, view }) => {
    const messages = body['messages'] as { role: string }[]
    const [, command] = /RUN (.*)$/s.exec(view.lastUserText) ?? []
    return messages.at(-1)!.role === 'tool' || command === undefined ? { text: 'done' } : run(command)
  })
  let known = await start(server)
  let checked = 0
  for (let move = 0; move < MOVES; move++) {
    const n = Math.floor(next() * 1000)
    const at = [...known.expected.keys()][Math.floor(next() * known.expected.size)]
    const choice = at === undefined ? 0 : next()
    if (choice < 0.45) await turn(server, known, COMMANDS[n % COMMANDS.length]!(n))
    else if (choice < 0.6) edit(known.work, n)
    else if (choice < 0.63) await server.restart()
    else {
      checked += 1
      if (choice < 0.8) await restore(server, known, at!)
      else {
        const made = await fork(server, known, at!)
        if (next() < 0.5) known = made
      }
    }
  }
  return checked
}

test(
  'random forks and restores with edits in between return the files of the last checkpoint at or before their event',
  async () => {
    let checked = 0
    const isEnough = () => checked >= LEAST_CHECKED
    await forSeeds({ ...CAMPAIGN, ...(form === 'soak' && { isEnough }) }, async (seed) => {
      checked += await play(seed)
    })
    expect(checked).toBeGreaterThanOrEqual(LEAST_CHECKED)
  },
  LIMIT_SECONDS * 1000,
)
