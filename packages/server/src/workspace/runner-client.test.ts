import { expect, test } from 'vitest'
import { RunnerClient } from './runner-client.ts'
import type { RunnerLink } from './runner-link.ts'
import { openPlace } from './runner/ipc/place.ts'
import { never, openTestWorkspaces, terminal } from './workspace.testing.ts'

test('a request that meets a connection which is being closed is sent over the next one', async () => {
  await using here = await openTestWorkspaces()
  await terminal(await here.open(), 'true')
  const links: RunnerLink[] = []
  await using client = new RunnerClient(openPlace(here.dataDir), {
    start: () => Promise.reject(new Error('the runner is alive')),
    onConnect: async (link) => void links.push(link),
  })
  for (const ask of ['ask', 'askIfRunning'] as const) {
    await client.ask({ op: 'ping' }, never)
    links.at(-1)!.close()
    expect(await client[ask]({ op: 'ping' }, never)).toBeDefined()
  }
  expect(links).toHaveLength(3)
})
