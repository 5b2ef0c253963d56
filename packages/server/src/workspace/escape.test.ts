/** Processes that change their session, their parent and their environment. */
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { until } from '../../testing/until.ts'
import { findCgroup } from './runner/groups/cgroup.ts'
import { knownGroups } from './runner/groups/process-groups.ts'
import { openPlace } from './runner/ipc/place.ts'
import { isAlive, never, openTestWorkspaces, processEnd, terminal, type TestWorkspaces } from './workspace.testing.ts'
import type { Workspace } from './workspace.ts'

/** Where it is false, the limit is documented: docs/operations.md, Processes of a conversation. */
const isGrouped = 'path' in findCgroup()

const script = `env -i PATH="$PATH" setsid sh -c 'sh -c "echo \\$\\$ >pid; exec sleep 1000" </dev/null >/dev/null 2>&1 &'`

/** Starts a command that leaves such a process behind and continues itself. Resolves with the pid of the process. */
async function escape(here: TestWorkspaces, workspace: Workspace): Promise<number> {
  await workspace.writeFile('escape.sh', Buffer.from(script), never)
  terminal(workspace, 'sh escape.sh; sleep 1000').catch(() => undefined)
  const path = here.dir.file('work', 'c1', 'pid')
  await until(() => existsSync(path) && readFileSync(path, 'utf8').endsWith('\n'))
  const pid = Number(readFileSync(path, 'utf8'))
  // Before its last step it still has the name of the shell, and another environment than afterwards.
  await until(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith('sleep'))
  expect(here.processes()).not.toContain(pid)
  return pid
}

async function kill(here: TestWorkspaces): Promise<void> {
  const runner = (await here.runnerPid())!
  process.kill(runner, 'SIGKILL')
  await processEnd(runner)
}

test.each<[string, (workspace: Workspace, here: TestWorkspaces) => Promise<unknown>]>([
  ['an interrupt of its command', (workspace) => workspace.interrupt()],
  ['the release of its conversation', (workspace) => workspace.release()],
  [
    'the release of its conversation after the runner was killed',
    async (workspace, here) => {
      await kill(here)
      await workspace.release()
    },
  ],
  [
    'the end of the runner',
    async (_, here) => {
      const runner = (await here.runnerPid())!
      process.kill(runner, 'SIGTERM')
      await processEnd(runner)
    },
  ],
  [
    'the next runner after a runner was killed',
    async (_, here) => {
      await kill(here)
      const other = await here.open('c2')
      // The first request may be the one that notices the end of the runner.
      await until(() =>
        other.exec({ argv: ['true'] }, never).then(
          () => true,
          () => false,
        ),
      )
    },
  ],
  [
    'the next runner after a runner was killed and its folder was lost',
    async (_, here) => {
      await kill(here)
      rmSync(here.dir.file('data', 'runner'), { recursive: true })
      await (await here.open('c2', 1, here.another())).exec({ argv: ['true'] }, never)
    },
  ],
])(
  'a process that changed session, parent and environment is ended by %s where the kernel groups processes, and by nothing elsewhere',
  async (_, end) => {
    await using here = await openTestWorkspaces()
    const workspace = await here.open()
    const pid = await escape(here, workspace)
    await end(workspace, here)
    if (isGrouped) return processEnd(pid)
    expect(isAlive(pid)).toBe(true)
    process.kill(pid, 'SIGKILL')
  },
)

test('a server in the background of a shell survives an interrupt of a later command', async () => {
  await using here = await openTestWorkspaces()
  const workspace = await here.open()
  await workspace.writeFile('escape.sh', Buffer.from(script), never)
  await terminal(workspace, 'sh escape.sh; sleep 1001 & echo $! >background; until [ -s pid ]; do sleep 0.02; done')
  const pids = ['pid', 'background'].map((name) => Number(readFileSync(here.dir.file('work', 'c1', name), 'utf8')))
  // One program: a shell that is between two of them can miss a Ctrl-C.
  const later = terminal(workspace, 'sh -c "touch up; exec sleep 1000"')
  await until(() => existsSync(here.dir.file('work', 'c1', 'up')))
  await workspace.interrupt()
  expect(await later).toMatchObject({ outcome: 'exited', exit_code: 130 })
  expect(pids.map(isAlive)).toEqual([true, true])
  await workspace.release()
  expect(isAlive(pids[1]!)).toBe(false)
  if (!isGrouped) process.kill(pids[0]!, 'SIGKILL')
  await processEnd(pids[0]!)
})

test('every process is in the group of its conversation from its first instruction, and no group is left at the end', async () => {
  await using here = await openTestWorkspaces()
  const place = openPlace(here.dataDir)
  const groupsIn = async (conversation: string) => {
    const workspace = await here.open(conversation)
    const argv = ['cat', '/proc/self/cgroup']
    const texts = [
      (await workspace.exec({ argv }, never)).stdout,
      (await terminal(workspace, argv.join(' '))).output,
      await new Response((await workspace.spawn({ argv }, never)).stdout).text(),
    ]
    return texts.map((text) => /^0::.*(parley-.*)$/m.exec(text)?.[1])
  }
  const [one, two] = [await groupsIn('c1'), await groupsIn('c2')]
  expect([new Set(one).size, new Set(two).size]).toEqual([1, 1])
  if (!isGrouped) return expect([one[0], two[0]]).toEqual([undefined, undefined])
  expect(one[0]).not.toBe(two[0])
  const [group] = knownGroups(place)
  expect(existsSync(group!)).toBe(true)
  process.kill((await here.runnerPid())!, 'SIGTERM')
  await until(() => knownGroups(place).length === 0)
  expect(existsSync(group!)).toBe(false)
})
