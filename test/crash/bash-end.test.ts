/** The end of a bash command while the store accepts no writes. */
import { writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { processesOf } from '../../packages/server/testing/processes.ts'
import { startTestServer } from '../../packages/server/testing/server.ts'
import { until } from '../../packages/server/testing/until.ts'
import { refuseWrites } from '../../packages/server/testing/chosen-store.ts'

test('the end of a bash command that the store refuses is stored as soon as the store accepts writes', async () => {
  await using server = await startTestServer()
  const go = server.dir.file('go')
  const command = `until [ -e ${go} ]; do sleep 0.05; done; echo done`
  const { body } = await server.call('POST', '/api/bash/start_bash_command', { command, timeout: 60 })
  const commands = () => processesOf(server.dir.path, go)
  await until(async () => (await commands()).length > 0)
  {
    await using _refusing = await refuseWrites(server.dir.file('data'))
    await writeFile(go, '')
    await until(async () => (await commands()).length === 0)
    // Writes wait equally long for the lock, so the end of the command was refused before this one.
    expect((await server.call('POST', '/api/secrets', { name: 'LATER', value: 'x' })).status).toBe(503)
  }
  const outputs = async () =>
    (await server.call('GET', `/api/bash/bash_events/search?command_id__eq=${body.id}&kind__eq=BashOutput`)).body.items
  await until(async () => (await outputs()).length > 0)
  expect(await outputs()).toMatchObject([{ exit_code: 0, stdout: 'done\n' }])
}, 60_000)

test('a caller that waits for a bash command gets its output while the store refuses to store it', async () => {
  await using server = await startTestServer()
  const go = server.dir.file('go')
  const command = `until [ -e ${go} ]; do sleep 0.05; done; echo done`
  const executed = server.call('POST', '/api/bash/execute_bash_command', { command, timeout: 60 })
  await until(async () => (await processesOf(server.dir.path, go)).length > 0)
  {
    await using _refusing = await refuseWrites(server.dir.file('data'))
    await writeFile(go, '')
    expect(await executed).toMatchObject({ status: 200, body: { exit_code: 0, stdout: 'done\n' } })
  }
  const { body } = await executed
  const stored = async () => (await server.call('GET', `/api/bash/bash_events/${body.id}`)).body
  await until(async () => (await stored()).id === body.id)
  expect(await stored()).toEqual(body)
}, 60_000)
