import { writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { OWNER } from '../../testing/roots.ts'
import { until } from '../../testing/until.ts'
import { openLimits, OpenCount } from '../quotas/index.ts'
import { never, openTestWorkspaces } from './workspace.testing.ts'

const limited = (most: number) =>
  new OpenCount('processes', openLimits({ everyone: { processes: most }, users: new Map() }, true))

/** Ends when the file exists. */
const waitFor = (file: string) => ['sh', '-c', `until [ -e ${file} ]; do sleep 0.05; done; echo over`]

const REFUSED = { code: 'rate_limited', details: { limit: 'processes', allowed: 1, used: 1, retry_after_seconds: 10 } }

test('a command beyond the limit of its user is refused, a repeated one is attached to, and its end frees the place', async () => {
  const processes = limited(1)
  await using at = await openTestWorkspaces({ processes })
  const [first, second] = [await at.open('c1'), await at.open('c2')]
  const file = at.dir.file('go')
  const running = first.exec({ argv: waitFor(file), callId: 'one' }, never)
  await until(async () => (await first.ledger(['one'], never))['one']?.state === 'running')
  await expect(second.exec({ argv: ['true'] }, never)).rejects.toMatchObject(REFUSED)
  await expect(second.exec({ argv: ['true'], callId: 'two' }, never)).rejects.toMatchObject(REFUSED)
  const attached = first.exec({ argv: waitFor(file), callId: 'one' }, never)
  await until(() => processes.used(OWNER) === 2)
  await writeFile(file, '')
  expect((await running).stdout).toBe('over\n')
  expect((await attached).stdout).toBe('over\n')
  expect((await second.exec({ argv: ['echo', 'now'] }, never)).stdout).toBe('now\n')
  expect(processes.used(OWNER)).toBe(0)
})

test('a program with open pipes counts until it ends', async () => {
  const processes = limited(1)
  await using at = await openTestWorkspaces({ processes })
  const workspace = await at.open()
  const program = await workspace.spawn({ argv: ['cat'] }, never)
  await until(() => processes.used(OWNER) === 1)
  await expect(workspace.exec({ argv: ['true'] }, never)).rejects.toMatchObject(REFUSED)
  await program[Symbol.asyncDispose]()
  await until(() => processes.used(OWNER) === 0)
  expect((await workspace.exec({ argv: ['true'] }, never)).exit_code).toBe(0)
})
