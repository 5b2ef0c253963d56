/** Disabled users: nothing of them runs or is answered, until they are enabled again. */
import { existsSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { command, instruct, startInstructedModel } from '../../packages/server/testing/instructed-model.ts'
import { startServerProcess } from '../../packages/server/testing/server-process.ts'
import { startTestServer, type TestServer } from '../../packages/server/testing/server.ts'
import { openSocket } from '../../packages/server/testing/socket.ts'
import { storeKeys } from '../../packages/server/testing/stored-keys.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { until } from '../../packages/server/testing/until.ts'
import { openUserStates } from '../../packages/server/src/index.ts'
import { chosenDatabase } from '../../packages/server/testing/store-choice.ts'

let model: Awaited<ReturnType<typeof startInstructedModel>>
let server: TestServer
let ann: { 'X-Session-API-Key': string }
let admin: { 'X-Session-API-Key': string }
beforeAll(async () => {
  model = await startInstructedModel()
  server = await startTestServer({
    PARLEY_MODE: 'shared',
    PARLEY_LLM_MODEL: 'openai/scripted',
    PARLEY_LLM_API_KEY: 'k',
    PARLEY_LLM_BASE_URL: `${model.url}/v1`,
  })
  const [one, other] = await storeKeys(server.dir.file('data'), ['ann', 'user'], ['operator', 'admin'])
  ann = { 'X-Session-API-Key': one! }
  admin = { 'X-Session-API-Key': other! }
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await model[Symbol.asyncDispose]()
})

const asAnn = (method: string, path: string, body?: unknown, more = {}) =>
  server.call(method, path, body, { ...ann, ...more })
const pidIn = async (file: string): Promise<number> => {
  await until(() => existsSync(file) && readFileSync(file, 'utf8').trim() !== '')
  return Number(readFileSync(file, 'utf8'))
}
/** Processes of a sandbox have other ids outside: found by a time that no other test sleeps for. */
const sleeps = async (seconds: number): Promise<boolean> => {
  const { readdir, readFile } = await import('node:fs/promises')
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const line = await readFile(`/proc/${name}/cmdline`, 'utf8').catch(() => '')
    if (line === `sleep\0${seconds}\0`) return true
  }
  return false
}

test('a disabled user is refused, its run, its processes and its connections end, and after it is enabled it works again', async () => {
  const started = await asAnn('POST', '/api/conversations', {}, { prefer: 'wait=20' })
  const id = started.body.conversation_id as string
  const content = [{ type: 'text', text: instruct(command('sleep 614159'), { text: 'done' }) }]
  await asAnn('POST', `/api/conversations/${id}/events`, { role: 'user', content, run: true })
  await asAnn('POST', '/api/bash/start_bash_command', { command: 'sleep 614160', timeout: 700_000 })
  await until(async () => (await sleeps(614159)) && (await sleeps(614160)))
  const socket = openSocket(`${server.url.replace('http', 'ws')}/sockets/events/${id}`, {
    'x-session-api-key': ann['X-Session-API-Key'],
  })
  await socket.next()

  expect(await server.call('POST', '/api/users/ann/disable')).toMatchObject({ status: 200, body: { success: true } })
  expect(await socket.closed).toEqual({ code: 4001, reason: 'Authentication failed' })
  expect((await asAnn('GET', '/api/settings')).status).toBe(401)
  expect([await sleeps(614159), await sleeps(614160)]).toEqual([false, false])
  expect((await server.call('GET', '/api/users')).body.items).toMatchObject([
    { user: 'ann', state: 'disabled' },
    { user: 'default', state: 'active' },
    { user: 'operator', state: 'active' },
  ])

  expect((await server.call('POST', '/api/users/ann/enable')).status).toBe(200)
  const after = await asAnn('GET', `/api/conversations/${id}`)
  expect(after).toMatchObject({ status: 200, body: { execution_status: 'paused' } })
  await asAnn('POST', `/api/conversations/${id}/start`)
  const again = [{ type: 'text', text: instruct({ text: 'here again' }) }]
  await asAnn('POST', `/api/conversations/${id}/events`, { role: 'user', content: again, run: true })
  await until(async () => (await asAnn('GET', `/api/conversations/${id}`)).body.execution_status === 'finished')
  expect((await asAnn('POST', '/api/bash/execute_bash_command', { command: 'echo back' })).body).toMatchObject({
    exit_code: 0,
    stdout: 'back\n',
  })
})

test('the user default and the user of the key are not disabled or deleted, and only administrators may ask', async () => {
  for (const [method, path] of [
    ['POST', '/api/users/default/disable'],
    ['DELETE', '/api/users/default'],
  ] as const) {
    const { status, body } = await server.call(method, path, undefined, admin)
    expect([path, status, body.detail]).toEqual([
      path,
      409,
      'User default has the keys of the environment, and is neither disabled nor deleted.',
    ])
    expect((await server.call(method, path)).status).toBe(409)
  }
  expect((await server.call('DELETE', '/api/users/operator', undefined, admin)).status).toBe(409)
  expect((await server.call('DELETE', '/api/users/none')).status).toBe(404)
  for (const [method, path] of [
    ['GET', '/api/users'],
    ['POST', '/api/users/operator/disable'],
    ['POST', '/api/users/operator/enable'],
    ['DELETE', '/api/users/operator'],
  ] as const)
    expect([path, (await asAnn(method, path)).status]).toEqual([path, 403])
})

test('a running server follows the command line within seconds', async () => {
  const [key] = await storeKeys(server.dir.file('data'), ['carl', 'user'])
  const headers = { 'X-Session-API-Key': key! }
  const socket = openSocket(`${server.url.replace('http', 'ws')}/sockets/bash-events`, { 'x-session-api-key': key! })
  await socket.opened
  await server.call('POST', '/api/bash/start_bash_command', { command: 'sleep 614161', timeout: 700_000 }, headers)
  await until(() => sleeps(614161))
  await using users = await openUserStates({
    dataDir: server.dir.file('data'),
    databaseUrl: await chosenDatabase(server.dir.file('data')),
  })
  await users.change('carl', 'disabled')
  expect((await server.call('GET', '/api/settings', undefined, headers)).status).toBe(401)
  expect((await socket.closed).code).toBe(4001)
  await until(async () => !(await sleeps(614161)))
  const { items } = (await server.call('GET', '/api/audit?user=')).body
  expect(items).toContainEqual(expect.objectContaining({ action: 'parley users disable', subject: 'carl' }))
})

test('a start continues nothing of a user who was disabled while no server ran', async () => {
  await using dir = await tempDir()
  const dataDir = dir.file('data')
  const [key] = await storeKeys(dataDir, ['ann', 'user'])
  const env = {
    PARLEY_LLM_MODEL: 'openai/scripted',
    PARLEY_LLM_API_KEY: 'k',
    PARLEY_LLM_BASE_URL: `${model.url}/v1`,
  }
  const call = async (url: string, method: string, path: string, body?: unknown) => {
    const headers = { 'X-Session-API-Key': key!, 'content-type': 'application/json', prefer: 'wait=20' }
    const answer = await fetch(url + path, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return { status: answer.status, body: (await answer.json()) as Record<string, any> }
  }
  let id: string
  {
    await using first = await startServerProcess({ dataDir, env })
    id = (await call(first.url, 'POST', '/api/conversations', {})).body['conversation_id'] as string
    const text = instruct(command(`echo $$ > ${dir.file('pid')}; exec sleep 614162`), { text: 'done' })
    const message = { role: 'user', content: [{ type: 'text', text }], run: true }
    void call(first.url, 'POST', `/api/conversations/${id}/events`, message).catch(() => undefined)
    await pidIn(dir.file('pid'))
    await first.kill()
  }
  expect(await sleeps(614162)).toBe(true)
  {
    await using users = await openUserStates({ dataDir, databaseUrl: await chosenDatabase(dataDir) })
    await users.change('ann', 'disabled')
  }
  const asked = model.requests.length
  await using second = await startServerProcess({ dataDir, env })
  await until(async () => !(await sleeps(614162)))
  expect((await call(second.url, 'GET', `/api/conversations/${id}`)).status).toBe(401)
  await second.call('POST', '/api/users/ann/enable')
  expect((await call(second.url, 'GET', `/api/conversations/${id}`)).body['execution_status']).toBe('paused')
  expect(model.requests.length).toBe(asked)
})
