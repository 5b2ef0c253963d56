/** Limits of users over HTTP and sockets. Source: docs/quotas.md. */
import { describe, expect, test } from 'vitest'
import { KEYS, startKeyedServer } from '../../packages/server/testing/keyed-server.ts'
import { LIMITS } from '../../packages/server/src/quotas/index.ts'
import { until } from '../../packages/server/testing/until.ts'

const limited = (limits: object, more: Parameters<typeof startKeyedServer>[0] = {}) =>
  startKeyedServer({ ...more, env: { PARLEY_USER_LIMITS: JSON.stringify(limits) } })
const BOB = { key: KEYS.bob }
const ofAnn = { 'x-session-api-key': KEYS.ann }
const remedy = 'or ask the operator to raise the limit (setting user_limits).'

describe('requests', () => {
  test('the requests of all keys of a user are counted together, and those of others are not', async () => {
    await using server = await limited({ ann: { requests_per_minute: 4 } })
    const ask = (key: string) => server.call('GET', '/api/settings', undefined, { key })
    const count = () => server.call('GET', '/api/conversations/count', undefined, { key: KEYS.reader })
    for (let n = 0; n < 2; n += 1) expect([(await ask(KEYS.ann)).status, (await count()).status]).toEqual([200, 200])
    const { status, json, headers } = await ask(KEYS.ann)
    expect(status).toBe(429)
    const seconds = Number(headers.get('retry-after'))
    expect(seconds).toBeGreaterThan(0)
    expect(json).toEqual({
      detail: `The limit requests_per_minute of this user is reached: 4 of 4. Try again in ${seconds} s, ${remedy}`,
      limit: 'requests_per_minute',
      allowed: 4,
      used: 4,
    })
    expect((await count()).status).toBe(429)
    for (let n = 0; n < 6; n += 1) expect((await ask(KEYS.bob)).status).toBe(200)
  })
})

describe('frames of sockets', () => {
  test('a frame beyond the limit of requests gets an error and has no effect, and the socket stays open', async () => {
    await using server = await limited({ ann: { requests_per_minute: 3 } })
    const { id } = await server.start()
    await using socket = server.socket(`/sockets/events/${id}`, ofAnn)
    await using bash = server.socket('/sockets/bash-events', ofAnn)
    await Promise.all([socket.opened, bash.opened])
    const message = { role: 'user', content: [{ type: 'text', text: 'hello' }], run: false }
    for (let n = 0; n < 3; n += 1) socket.send(message)
    const isError = ({ kind }: { kind: string }) => kind === 'ServerErrorEvent' || kind === 'BashError'
    expect((await socket.next(isError)).detail).toMatch(
      /^The limit requests_per_minute of this user is reached: 3 of 3/,
    )
    bash.send({ command: 'true' })
    expect((await bash.next(isError)).detail).toMatch(/^The limit requests_per_minute/)
    expect(socket.ws.readyState).toBe(socket.ws.OPEN)
    await until(() => socket.frames.filter(({ kind }) => kind === 'MessageEvent').length === 2)
  })
})

describe('new conversations', () => {
  test('a new conversation and a fork beyond the limit get 429, a repeated start finds its conversation', async () => {
    await using server = await limited({ ann: { starts_per_minute: 2 } })
    const conversation_id = '11111111-2222-4333-8444-555555555555'
    const { id, workspace } = await server.start({ conversation_id })
    expect((await server.call('POST', `/api/conversations/${id}/fork`, {})).status).toBe(201)
    const body = { agent: server.agent, workspace }
    const { status, json } = await server.call('POST', '/api/conversations', body)
    expect([status, json.limit, json.used]).toEqual([429, 'starts_per_minute', 2])
    expect((await server.call('POST', `/api/conversations/${id}/fork`, {})).status).toBe(429)
    expect(await server.start({ conversation_id })).toMatchObject({ id })
    expect((await server.call('POST', '/api/conversations', body, BOB)).status).toBe(201)
  })
})

describe('sockets', () => {
  test('sockets and event streams count together, a closed one frees its place, and other users have their own', async () => {
    await using server = await limited({ '*': { sockets: 2 } })
    const { id } = await server.start()
    await using first = server.socket(`/sockets/events/${id}`, ofAnn)
    await first.opened
    const stop = new AbortController()
    const stream = await fetch(`${server.url}/api/conversations/${id}/events/stream`, {
      headers: ofAnn,
      signal: stop.signal,
    })
    expect(stream.status).toBe(200)
    await expect(server.socket(`/sockets/events/${id}`, ofAnn).opened).rejects.toThrow('429')
    await expect(server.socket('/sockets/bash-events', ofAnn).opened).rejects.toThrow('429')
    const refused = await server.call('GET', `/api/conversations/${id}/events/stream`)
    expect([refused.status, refused.headers.get('retry-after'), refused.json.limit]).toEqual([429, '10', 'sockets'])
    await using late = server.socket(`/sockets/events/${id}`)
    await late.opened
    late.send({ type: 'auth', session_api_key: KEYS.ann })
    expect(await late.closed).toEqual({ code: 1013, reason: 'Too many sockets of this user' })
    await using ofBob = server.socket('/sockets/bash-events', { 'x-session-api-key': KEYS.bob })
    await ofBob.opened
    stop.abort()
    await until(async () => {
      const again = server.socket(`/sockets/events/${id}`, ofAnn)
      return again.opened.then(
        () => true,
        () => false,
      )
    })
  })
})

describe('the month', () => {
  test('no model is asked to validate a profile, or by a hook, when the month of the user is spent', async () => {
    let asked = 0
    const respond = () => {
      asked += 1
      return { text: '{"decision": "allow"}' }
    }
    await using server = await limited({ ann: { monthly_cost_usd: 0.5 } }, { respond })
    const llm = { ...(server.agent['llm'] as object), input_cost_per_token: 1, output_cost_per_token: 1 }
    const paying = await server.start({ agent: { ...server.agent, llm } })
    await server.say(paying.id, 'hello', true)
    const spent = async () => (await server.call('GET', '/api/quotas')).json.quotas
    await until(async () =>
      (await spent()).some((row: { name: string; used: number }) => row.name === 'monthly_cost_usd' && row.used > 0.5),
    )
    asked = 0
    const validate = (key: string) =>
      server.call('POST', '/api/profiles/mine/validate', { llm: server.agent['llm'] }, { key })
    const { status, json } = await validate(KEYS.ann)
    expect([status, json.limit]).toEqual([409, 'monthly_cost_usd'])
    const hook = { type: 'prompt', prompt: 'Keep the rules.' }
    const hook_config = { user_prompt_submit: [{ matcher: '*', hooks: [hook] }] }
    const { id } = await server.start({ hook_config })
    await until(async () => (await server.say(id, 'hello')).status === 200)
    const executions = async () => {
      const { json: page } = await server.call('GET', `/api/conversations/${id}/events/search?kind=HookExecutionEvent`)
      return page.items
    }
    await until(async () => (await executions()).length > 0)
    expect((await executions())[0].error).toContain('The limit monthly_cost_usd of this user is reached')
    expect(asked).toBe(0)
    expect((await validate(KEYS.bob)).json).toEqual({ valid: true, error: null })
  })
})

describe('commands and uploads', () => {
  test('a command beyond the limit gets 429, and other users run theirs', async () => {
    await using server = await limited({ ann: { processes: 1 } })
    const start = (command: string, key: string = KEYS.ann) =>
      server.call('POST', '/api/bash/start_bash_command', { command, timeout: 60 }, { key })
    expect((await start('sleep 60')).status).toBe(200)
    await until(async () => (await start('true')).status === 429)
    const { json, headers } = await start('true')
    expect([json.limit, json.used, headers.get('retry-after')]).toEqual(['processes', 1, '10'])
    expect((await start('true', KEYS.bob)).status).toBe(200)
  })

  test('an upload above the limit gets 413 and leaves no file, and one beyond the day gets 429', async () => {
    await using server = await limited({ ann: { upload_bytes: 100, upload_bytes_per_day: 150 } })
    const { workspace } = await server.start()
    const upload = async (name: string, bytes: number) => {
      const body = new FormData()
      body.append('file', new Blob([new Uint8Array(bytes)]), name)
      const path = encodeURIComponent(`${workspace.working_dir}/${name}`)
      const answer = await fetch(`${server.url}/api/file/upload?path=${path}`, { method: 'POST', headers: ofAnn, body })
      return { status: answer.status, wait: answer.headers.get('retry-after'), body: await answer.json() }
    }
    expect((await upload('a', 40)).status).toBe(200)
    expect(await upload('b', 101)).toMatchObject({ status: 413, body: { limit: 'upload_bytes', allowed: 100 } })
    const path = encodeURIComponent(`${workspace.working_dir}/b`)
    expect((await server.call('GET', `/api/file/download?path=${path}`)).status).toBe(404)
    const late = await upload('c', 90)
    expect(late).toMatchObject({ status: 429, body: { limit: 'upload_bytes_per_day', allowed: 150 } })
    expect(Number(late.wait)).toBeGreaterThan(0)
  })
})

describe('reading', () => {
  test('a user reads the own limits and use, also with a read-only key, and only an administrator those of all', async () => {
    await using server = await limited({ ann: { sockets: 3, monthly_cost_usd: 0.5 } })
    const { id } = await server.start()
    await using socket = server.socket(`/sockets/events/${id}`, ofAnn)
    await socket.opened
    const read = async (key: string) => (await server.call('GET', '/api/quotas', undefined, { key })).json
    const { user, quotas, unpriced_answers } = await read(KEYS.reader)
    expect([user, unpriced_answers]).toEqual(['ann', 0])
    expect(quotas.map(({ name }: { name: string }) => name)).toEqual(Object.keys(LIMITS))
    expect(quotas).toContainEqual({ name: 'sockets', limit: 3, used: 1, waiting: 0 })
    expect(quotas).toContainEqual({ name: 'runs', limit: null, used: 0, waiting: 0 })
    expect(quotas).toContainEqual({ name: 'monthly_cost_usd', limit: 0.5, used: 0, waiting: 0 })
    expect(quotas.find(({ name }: { name: string }) => name === 'stored_bytes').used).toBeGreaterThan(0)
    expect((await read(KEYS.bob)).quotas).toContainEqual({ name: 'stored_bytes', limit: null, used: 0, waiting: 0 })
    expect((await server.call('GET', '/api/quotas/users')).status).toBe(403)
  })
})
