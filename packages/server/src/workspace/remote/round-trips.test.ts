import { randomUUID } from 'node:crypto'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { writeFile } from 'node:fs/promises'
import type { ClientRequest } from 'node:http'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { until } from '../../../testing/until.ts'
import { never, openRemoteTestWorkspaces, terminal, type RemoteTestWorkspaces } from './bench.testing.ts'

const SENT = 'http.client.request.start'

let bench: RemoteTestWorkspaces
beforeAll(async () => {
  const opened = await openRemoteTestWorkspaces()
  bench = opened
  return () => opened[Symbol.asyncDispose]()
})

/** Number of requests to the other server while `work` runs. */
async function requestsOf(work: () => Promise<unknown>): Promise<number> {
  const port = new URL(bench.server.url).port
  let count = 0
  const seen = (message: unknown) => {
    if ((message as { request: ClientRequest }).request.getHeader('host')?.toString().endsWith(`:${port}`)) count += 1
  }
  subscribe(SENT, seen)
  try {
    await work()
  } finally {
    unsubscribe(SENT, seen)
  }
  return count
}

test('the next owner collects the result of a command that has ended with one request', async () => {
  const id = randomUUID()
  const call = { callId: 'ended' }
  await terminal(await bench.open(id, { epoch: 1 }), 'echo x >> ended; wc -l < ended', call)
  await using other = bench.another()
  const next = await bench.open(id, { workspaces: other, epoch: 2 })
  const requests = await requestsOf(async () => {
    expect((await next.ledger(['ended'], never))['ended']?.state).toBe('exited')
    const repeated = await terminal(next, 'echo x >> ended; wc -l < ended', call)
    expect(repeated).toMatchObject({ output: '1\n', exit_code: 0, working_dir: bench.work })
  })
  expect(requests).toBe(1)
})

test('the next owner learns of a running command with one request, and waits for its end with the next', async () => {
  const id = randomUUID()
  const command = 'echo begun > begun; until [ -e gate ]; do sleep 0.05; done; echo ended'
  const earlier = await bench.open(id, { epoch: 1 })
  const first = terminal(earlier, command, { callId: 'running' })
  first.catch(() => undefined)
  await until(async () => (await earlier.stat('begun', never)) !== null)
  await using other = bench.another()
  const next = await bench.open(id, { workspaces: other, epoch: 2 })
  const asked = await requestsOf(async () => {
    expect((await next.ledger(['running'], never))['running']?.state).toBe('running')
  })
  expect(asked).toBe(1)
  await writeFile(join(bench.work, 'gate'), '')
  const waited = await requestsOf(async () => {
    expect(await terminal(next, command, { callId: 'running' })).toMatchObject({ output: 'ended\n', exit_code: 0 })
  })
  expect(waited).toBe(1)
})

test('a look at a command answers one call, and the next look asks again', async () => {
  const id = randomUUID()
  const workspace = await bench.open(id, { epoch: 1 })
  const running = terminal(workspace, 'until [ -e gate-2 ]; do sleep 0.05; done; echo ended', { callId: 'followed' })
  await until(async () => (await workspace.ledger(['followed'], never))['followed']?.state === 'running')
  await workspace.writeFile('gate-2', Buffer.from(''), never)
  await running
  expect((await workspace.ledger(['followed'], never))['followed']?.state).toBe('exited')
})

test('a working directory that does not exist yet is made by the first request that needs it', async () => {
  const id = randomUUID()
  const working_dir = bench.dir.file('not-made', 'yet')
  const workspace = await bench.open(id, { epoch: 1, place: { working_dir } })
  expect(await terminal(workspace, 'pwd')).toMatchObject({ output: `${bench.work}\n` })
})
