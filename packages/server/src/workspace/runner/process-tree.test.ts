import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { endProcesses } from './process-tree.ts'

test('a process that ignores SIGTERM is killed, also without a control group', async () => {
  const child = spawn('sh', ['-c', `trap '' TERM; echo ready; while :; do sleep 0.05; done`], {
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const exited = once(child, 'exit')
  await once(child.stdout, 'data')
  expect(await endProcesses({ mark: null, leaders: new Set([child.pid!]) })).toEqual([])
  expect(await exited).toEqual([null, 'SIGKILL'])
})
