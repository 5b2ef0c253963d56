/** A replay on a server that is killed before a commit: the campaign kills before every one, the short form before every third. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { byForm } from '../../packages/server/testing/campaign.ts'
import { callsOf, eventsOf, infoOf, play, progressOf, rested, textsOf } from '../../packages/server/testing/replays.ts'
import { startServerProcess, type ServerProcess } from '../../packages/server/testing/server-process.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { until } from '../../packages/server/testing/until.ts'

const EVERY = byForm({ test: 3, campaign: 1 })

const steps = [1, 2].flatMap((n) => [
  { id: 2 * n, source: 'agent', action: 'run', args: { command: `echo step-${n} >> trace; echo said-${n}` } },
  { cause: 2 * n, source: 'agent', observation: 'run', content: `said-${n}`, extras: { metadata: { exit_code: 0 } } },
])
const recording = [
  { source: 'user', action: 'message', args: { content: 'go' } },
  ...steps,
  { source: 'user', action: 'message', args: { content: 'and stop' } },
  { source: 'agent', action: 'finish', args: { final_thought: 'done' } },
]

async function check(server: ServerProcess, id: string, workspace: string, where: string) {
  await until(async () => (await infoOf(server, id)).execution_status === 'finished')
  const events = await eventsOf(server, id)
  expect(await readFile(join(workspace, 'trace'), 'utf8'), where).toBe('step-1\nstep-2\n')
  expect(callsOf(events), where).toHaveLength(3)
  expect(textsOf(events), where).toEqual(['user: go', 'user: and stop'])
  expect(progressOf(events), where).toMatchObject({ position: 4, total: 4, divergences: 0 })
}

test('a replay continues after a kill before a commit and repeats nothing', async () => {
  let tried = 0
  for (let at = 1; ; at += EVERY) {
    await using dir = await tempDir()
    const dataDir = dir.file('data')
    await using first = await startServerProcess({ dataDir, crash: { at, when: 'before' } })
    const { id, workspace } = await play(first, dataDir, recording)
    const settled = rested(first, id).then(
      () => false,
      () => true,
    )
    const isDead = await Promise.race([first.exited.then(() => true), settled])
    await using second = isDead ? await startServerProcess({ dataDir }) : null
    const server = second ?? first
    await check(server, id, workspace, `before commit ${at}`)
    await server.call('DELETE', `/api/conversations/${id}`)
    if (!isDead) break
    tried++
  }
  expect(tried).toBeGreaterThanOrEqual(Math.floor(7 / EVERY))
}, 120_000)
