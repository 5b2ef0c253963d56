import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { startTestServer } from '../../packages/server/testing/server.ts'
import { processesOf } from '../../packages/server/testing/processes.ts'
import { until } from '../../packages/server/testing/until.ts'
import { start } from '../../packages/server/testing/conversations.ts'
import { childrenOf, finish, parent, run, startScripts, task } from '../../packages/server/testing/sub-agent-scripts.ts'

test('an interrupt after a pause cancels the running command, and another run does not start it again', async () => {
  await using server = await startTestServer()
  await using model = await startScripts({ parent: [run('echo once >> trace; sleep 120'), finish('done')] })
  const it = await start(server, parent(model, server.dir.file('work')))
  await until(async () => (await processesOf(server.dir.path, 'sleep 120')).length > 0)
  await it.post('pause')
  expect((await it.info()).execution_status).toBe('paused')
  expect((await it.post('interrupt')).status).toBe(200)
  expect((await it.kinds('AgentErrorEvent'))[0]).toMatchObject({
    error: 'Tool call interrupted before completion. The conversation was paused.',
    classification: { kind: 'agent_action', retryable: true, user_action: 'retry' },
  })
  expect((await it.info()).execution_status).toBe('paused')
  await until(async () => (await processesOf(server.dir.path, 'sleep 120')).length === 0)
  expect((await it.post('run')).status).toBe(200)
  await it.is('finished', 'error')
  expect((await it.info()).execution_status).toBe('finished')
  expect(await readFile(server.dir.file('work', 'trace'), 'utf8')).toBe('once\n')
}, 60_000)

test('an interrupt after a pause cancels the step that a sub-agent was paused after', async () => {
  await using server = await startTestServer()
  await using model = await startScripts({
    parent: [task('[child] x'), finish('done')],
    child: [run('sleep 120'), finish('never said')],
  })
  const it = await start(server, parent(model, server.dir.file('work')))
  await until(async () => (await processesOf(server.dir.path, 'sleep 120')).length > 0)
  await it.post('pause')
  const [child] = await childrenOf(server, it.id)
  await child!.is('paused')
  expect((await it.post('interrupt')).status).toBe(200)
  for (const each of [child!, it]) {
    expect(await each.kinds('AgentErrorEvent')).toHaveLength(1)
    expect((await each.info()).execution_status).toBe('paused')
  }
  await until(async () => (await processesOf(server.dir.path, 'sleep 120')).length === 0)
  expect(model.requests).toHaveLength(2)
}, 60_000)

test('a stop ends the processes of a conversation also while a batch waits for an approval', async () => {
  await using server = await startTestServer()
  await using model = await startScripts({
    parent: [run('sleep 130 >/dev/null & echo begun'), run('echo second >> trace'), finish('done')],
  })
  const request = parent(model, server.dir.file('work'), { confirmation_policy: { kind: 'AlwaysConfirm' } })
  const it = await start(server, request)
  await it.is('waiting_for_confirmation')
  await it.post('run')
  await until(async () => (await it.kinds('ActionEvent')).length === 2)
  await it.is('waiting_for_confirmation')
  const sleepers = async () => (await processesOf(server.dir.path, 'sleep 130')).length
  expect(await sleepers()).toBeGreaterThan(0)
  expect((await it.post('stop')).status).toBe(200)
  expect(await sleepers()).toBe(0)
}, 60_000)
