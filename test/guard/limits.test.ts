/** Limits of memory and processes in a sandbox. Needs bubblewrap. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { findBubblewrap } from '../../packages/server/src/workspace/index.ts'
import { processLimit } from '../../packages/server/src/workspace/runner/sandbox/limits.ts'
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
    const allocate = `perl -e '$x = "a" x 200_000_000; print "had it"'`
    expect(await workspace.exec({ argv: ['sh', '-c', allocate] }, never)).not.toMatchObject({ exit_code: 0 })
    const { output, exit_code } = await terminal(workspace, allocate)
    expect(output).not.toContain('had it')
    expect(exit_code).not.toBe(0)
    expect((await terminal(workspace, 'echo here')).output).toBe('here\n')
  },
)

test.skipIf('reason' in found)('a program that starts itself again and again reaches the number of the setting', () => {
  const fork =
    'my $n = 0; while ($n < 1000) { my $pid = fork; last unless defined $pid; if (!$pid) { sleep 60; exit } $n++ } $| = 1; print $n; kill 9, -getpgrp'
  const view = [
    '--unshare-user',
    '--unshare-pid',
    '--die-with-parent',
    '--ro-bind',
    '/',
    '/',
    '--dev',
    '/dev',
    '--proc',
    '/proc',
  ]
  // The kernel does not count the processes of root.
  const account = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
  const { path } = found as { path: string }
  const argv = [...view, '--', ...processLimit(64), 'perl', '-e', fork]
  const { stdout } = spawnSync(path, argv, { cwd: '/', encoding: 'utf8', ...account })
  expect([Number(stdout) > 40, Number(stdout) < 65]).toEqual([true, true])
})

test('a limit is set where the control group has it, and reported as missing elsewhere', async () => {
  await using dir = await tempDir()
  mkdirSync(dir.file('group'))
  writeFileSync(dir.file('group', 'pids.max'), 'max')
  expect(setLimit(dir.file('group'), 'pids.max', 64)).toBe(true)
  expect(readFileSync(dir.file('group', 'pids.max'), 'utf8')).toBe('64')
  expect(setLimit(dir.file('group'), 'memory.max', 64)).toBe(false)
})
