/** A store that is restored in another data directory, and an id that is used again: docs/operations.md, Backup. */
import { DatabaseSync, backup } from 'node:sqlite'
import { cpSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { ScriptedAnswer } from '../../packages/server/testing/scripted-model.ts'
import { ofKind, startRunning } from '../../packages/server/testing/restartable-server.ts'
import { startServerProcess } from '../../packages/server/testing/server-process.ts'
import { until } from '../../packages/server/testing/until.ts'

const lines = (path: string) => (existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n').length : 0)
const terminal = (command: string): ScriptedAnswer => ({ toolCalls: [{ name: 'terminal', arguments: { command } }] })

test('a store that is restored elsewhere while its commands run reports them as unknown and executes none again', async () => {
  let trace = ''
  await using server = await startRunning(
    ({ view }) => {
      if (view.toolResults.length > 0) return { text: 'done' }
      return terminal(`echo x >>${trace}; until [ -e ${trace}.go ]; do sleep 0.05; done`)
    },
    {},
    'process',
  )
  trace = server.file('trace')
  const id = await server.start()
  await server.say(id, 'go')
  await until(() => lines(trace) === 1)
  const command = `echo x >>${trace}-bash; until [ -e ${trace}.go ]; do sleep 0.05; done`
  const bash = await server.call('POST', '/api/bash/start_bash_command', { command, timeout: 60 })
  await until(() => lines(`${trace}-bash`) === 1)

  mkdirSync(server.file('restored'))
  const live = new DatabaseSync(server.file('data', 'parley.db'), { readOnly: true })
  await backup(live, server.file('restored', 'parley.db'))
  live.close()
  cpSync(server.file('data', 'secret-key'), server.file('restored', 'secret-key'))
  await using restored = await startServerProcess({ dataDir: server.file('restored') })
  await until(async () => (await restored.call('GET', `/api/conversations/${id}`)).body.execution_status === 'finished')
  const { body } = await restored.call('GET', `/api/conversations/${id}/events/search?limit=100`)
  expect(ofKind(body.items, 'AgentErrorEvent')).toHaveLength(1)
  const outputs = `/api/bash/bash_events/search?command_id__eq=${bash.body.id}&kind__eq=BashOutput`
  await until(async () => (await restored.call('GET', outputs)).body.items.length === 1)
  expect((await restored.call('GET', outputs)).body.items[0]).toMatchObject({
    stderr: expect.stringContaining('not known') as string,
  })
  expect([lines(trace), lines(`${trace}-bash`)]).toEqual([1, 1])
  await server.call('POST', `/api/conversations/${id}/interrupt`)
  await server.call('DELETE', `/api/conversations/${id}`)
})

test('an id is used again after DELETE, and its commands run at once', async () => {
  await using server = await startRunning(({ view }) =>
    view.toolResults.length > 0 ? { text: 'done' } : terminal('echo ran >>trace'),
  )
  const conversation_id = crypto.randomUUID()
  for (let round = 0; round < 2; round++) {
    const id = await server.start({ conversation_id })
    await server.say(id, 'go')
    await server.until(id, 'finished')
    expect(readFileSync(`${server.work(id)}/trace`, 'utf8')).toBe('ran\n')
    // Each start takes the conversation over, so its epoch grows.
    for (let restarts = 0; restarts < 2 && round === 0; restarts++) {
      await server.restart()
      await server.call('PATCH', `/api/conversations/${id}`, { title: `restarted ${restarts}` })
    }
    expect((await server.call('DELETE', `/api/conversations/${id}`)).status).toBe(200)
  }
})
