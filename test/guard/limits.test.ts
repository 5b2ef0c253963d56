/** Limits of memory and processes in a sandbox. Needs bubblewrap. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { findBubblewrap } from '../../packages/server/src/workspace/index.ts'
import { setLimit } from '../../packages/server/src/workspace/runner/groups/cgroup.ts'
import { never, openTestWorkspaces, terminal } from '../../packages/server/src/workspace/workspace.testing.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'

const found = await findBubblewrap()
const MIB = 1024 * 1024

test.skipIf('reason' in found)(
  'a program with more memory than the setting allows fails, and others go on',
  async () => {
    const limits = { processes: 4096, memoryBytes: 64 * MIB }
    await using here = await openTestWorkspaces({ sandbox: { mode: 'auto', network: false, limits } })
    const workspace = await here.open()
    const greedy = `perl -e '$x = "a" x 200_000_000; print "had it"'`
    expect(await workspace.exec({ argv: ['sh', '-c', greedy] }, never)).not.toMatchObject({ exit_code: 0 })
    const { output, exit_code } = await terminal(workspace, greedy)
    expect(output).not.toContain('had it')
    expect(exit_code).not.toBe(0)
    expect((await terminal(workspace, 'echo here')).output).toBe('here\n')
  },
)

// The kernel does not count the processes of root.
test.skipIf('reason' in found || process.getuid?.() === 0)(
  'a program that starts itself again and again reaches the number of the setting',
  async () => {
    const limits = { processes: 64, memoryBytes: null }
    await using here = await openTestWorkspaces({ sandbox: { mode: 'auto', network: false, limits } })
    const workspace = await here.open()
    const argv = [
      'perl',
      '-e',
      'my $n = 0; while ($n < 1000) { my $pid = fork; last unless defined $pid; if (!$pid) { sleep 60; exit } $n++ } $| = 1; print $n; kill 9, -getpgrp',
    ]
    const { stdout } = await workspace.exec(
      { argv: ['sh', '-c', `exec ${argv.map((one) => `'${one}'`).join(' ')}`], timeoutMs: 20_000 },
      never,
    )
    expect(Number(stdout)).toBeLessThan(65)
  },
)

test('a limit is set where the control group has it, and reported as missing elsewhere', async () => {
  await using dir = await tempDir()
  mkdirSync(dir.file('group'))
  writeFileSync(dir.file('group', 'pids.max'), 'max')
  expect(setLimit(dir.file('group'), 'pids.max', 64)).toBe(true)
  expect(readFileSync(dir.file('group', 'pids.max'), 'utf8')).toBe('64')
  expect(setLimit(dir.file('group'), 'memory.max', 64)).toBe(false)
})
