/** The sealing key belongs to the store. */
import { rm } from 'node:fs/promises'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { startRunning } from '../../packages/server/testing/restartable-server.ts'

test.each([
  ['with a test value', false],
  ['of version 0.1.0, without a test value', true],
])('a missing or other secret key refuses the start on a store %s, and replacing it is explicit', async (_, isOld) => {
  const env: Record<string, string> = {}
  await using server = await startRunning(() => ({ text: 'hello' }), env)
  const id = await server.start()
  await server.say(id, 'hi')
  await server.until(id, 'finished')
  const keyFile = server.file('data', 'secret-key')
  const damage = async () => {
    await rm(keyFile)
    if (!isOld) return
    using database = new DatabaseSync(server.file('data', 'parley.db'))
    database.exec('DELETE FROM seal_test')
  }
  await expect(server.restart(damage)).rejects.toThrow(/key file .* is missing.*put it back.*PARLEY_REPLACE_SECRET_KEY/)
  env['PARLEY_SECRET_KEY'] = 'another key'
  await expect(server.restart()).rejects.toThrow(/is not the one of the store.*PARLEY_REPLACE_SECRET_KEY/)

  env['PARLEY_REPLACE_SECRET_KEY'] = 'true'
  await server.restart()
  const at = `/api/conversations/${id}`
  expect(await server.call('GET', at)).toMatchObject({ status: 409, body: { reason: 'unreadable' } })
  expect((await server.call('DELETE', at)).status).toBe(200)
  const next = await server.start()
  delete env['PARLEY_REPLACE_SECRET_KEY']
  await server.restart()
  expect((await server.call('GET', `/api/conversations/${next}`)).status).toBe(200)
})
