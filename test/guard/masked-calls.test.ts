/**
 * A call that contains the value of a secret is executed as the agent wrote it, by a later process too, or refused: its masked form
 * is never executed. Source: docs/events.md, Approvals.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { readConfig, rekey } from '../../packages/server/src/index.ts'
import { ofKind, startRunning, type Loose, type Running } from '../../packages/server/testing/restartable-server.ts'
import { until } from '../../packages/server/testing/until.ts'
import { queryStore } from '../../packages/server/testing/chosen-store.ts'
import { hasFileStore } from '../../packages/server/testing/store-choice.ts'

const ALWAYS = { kind: 'AlwaysConfirm' }
const SECRET = 'harvest'
const WRITE = `printf %s ${SECRET} > out`
/** A command that says that it has begun, and waits for a file. */
const GATE = 'touch begun; until [ -e gate ]; do sleep 0.05; done'
const REFUSED = 'a secret value that is not available any more'

const terminal = (command: string) => ({ name: 'terminal', arguments: { command } })

/** What the model calls next. Not in the message of the user, in which the secret is masked for the model. */
let commands: readonly string[] = []

const startWriter = (where: 'inside' | 'process', env: Record<string, string> = {}): Promise<Running> =>
  startRunning(
    ({ view }) => (view.toolResults.length > 0 ? { text: 'done' } : { toolCalls: commands.map(terminal) }),
    env,
    where,
  )

const post = (server: Running, id: string, path: string, body?: object) =>
  server.call('POST', `/api/conversations/${id}/${path}`, body)
const file = (server: Running, id: string, name: string) => join(server.work(id), name)
const textOf = (path: string) => (existsSync(path) ? readFileSync(path, 'utf8') : null)

const inStore = (server: Running, text: string, ...values: (string | number)[]) =>
  queryStore(server.file('data'), text, ...values)
const notesIn = (server: Running) => inStore(server, "SELECT about, text FROM notes WHERE kind = 'arguments'")

async function waiting(server: Running, ...calls: string[]): Promise<string> {
  commands = calls.length === 0 ? [WRITE] : calls
  const id = await server.start({ autotitle: false, confirmation_policy: ALWAYS })
  await server.say(id, 'go')
  await server.until(id, 'waiting_for_confirmation')
  return id
}

async function approve(server: Running, id: string): Promise<void> {
  const request = (await server.events(id)).findLast(({ key }) => key === 'confirmation_request')
  const { status, text } = await post(server, id, 'run', { batch_id: request.value.batch_id })
  expect([status, text]).toEqual([200, text])
}

const replaceKey = (server: Running) => {
  const { config } = readConfig({ flags: { 'data-dir': server.file('data') }, env: {}, cwd: '/', home: '/' })
  return rekey(config, { newKey: null, backup: null, progress: () => undefined })
}

const createSecret = async (server: Running, value = SECRET) =>
  expect((await server.call('POST', '/api/secrets', { name: 'WORD', value })).status).toBe(201)

/** The sealing key of a database cannot be replaced yet. */
const REPLACED: [where: 'inside', executing: string, meanwhile: (server: Running) => unknown][] = hasFileStore
  ? [['inside', 'a process with another sealing key', (server) => server.restart(() => replaceKey(server))]]
  : []

test.each<['inside' | 'process', string, (server: Running, id: string) => unknown]>([
  ['inside', 'the process that stored it', () => undefined],
  ['inside', 'the next process', (server) => server.restart()],
  ['process', 'the process after a kill', (server) => server.kill()],
  ...REPLACED,
])(
  'an approved call with a masked secret, %s, is executed as the agent wrote it by %s',
  async (where, _, meanwhile) => {
    await using server = await startWriter(where)
    await createSecret(server)
    const id = await waiting(server)
    expect(await notesIn(server)).toEqual([{ about: expect.any(String), text: expect.stringMatching(/^v1:/) }])
    await meanwhile(server, id)
    await approve(server, id)
    await server.until(id, 'finished')
    expect(textOf(file(server, id, 'out'))).toBe(SECRET)
    const events = await server.events(id)
    expect(JSON.stringify(events)).not.toContain(SECRET)
    expect(ofKind(events, 'AgentErrorEvent')).toEqual([])
    expect(await notesIn(server)).toEqual([])
  },
  60_000,
)

test('an approved call with a masked secret is executed as the agent wrote it after the conversation left memory', async () => {
  await using server = await startWriter('inside', { PARLEY_IDLE_UNLOAD_SECONDS: '0.05' })
  await createSecret(server)
  const id = await waiting(server)
  const epoch = async () => (await inStore(server, 'SELECT epoch FROM conversations'))[0]?.['epoch']
  const before = await epoch()
  // A command without an effect loads an unloaded conversation; each load raises the epoch.
  while ((await epoch()) === before) {
    await sleep(100)
    await post(server, id, 'pause')
  }
  await approve(server, id)
  await server.until(id, 'finished')
  expect(textOf(file(server, id, 'out'))).toBe(SECRET)
}, 60_000)

test('a server that is killed between the approval and the execution executes the call once, with its real arguments', async () => {
  await using server = await startWriter('process')
  await createSecret(server)
  const id = await waiting(server, GATE, `printf %s ${SECRET} >> out`)
  await approve(server, id)
  await until(() => existsSync(file(server, id, 'begun')))
  await server.kill(() => writeFileSync(file(server, id, 'gate'), ''))
  await server.until(id, 'finished')
  expect(textOf(file(server, id, 'out'))).toBe(SECRET)
  const events = await server.events(id)
  expect(ofKind(events, 'ObservationEvent')).toHaveLength(2)
  expect(await notesIn(server)).toEqual([])
}, 60_000)

test.each<[string, (server: Running) => unknown]>([
  ['the secret is deleted', (server) => server.call('DELETE', '/api/secrets/WORD')],
  [
    'the secret has another value',
    (server) => server.call('PUT', '/api/settings/secrets', { name: 'WORD', value: 'another-value' }),
  ],
  ['its sealed arguments are lost', (server) => inStore(server, 'DELETE FROM notes')],
  [
    'its sealed arguments are damaged',
    (server) => inStore(server, "UPDATE notes SET text = substr(text, 1, 40) || 'AAAA'"),
  ],
])(
  'an approved call with a masked secret is refused and not executed when %s before a restart',
  async (_, change) => {
    await using server = await startWriter('inside')
    await createSecret(server)
    const id = await waiting(server)
    await change(server)
    await server.restart()
    await approve(server, id)
    await server.until(id, 'finished')
    expect(existsSync(file(server, id, 'out'))).toBe(false)
    expect(ofKind(await server.events(id), 'AgentErrorEvent')).toMatchObject([
      { error: expect.stringContaining(REFUSED) as string },
    ])
    expect(await notesIn(server)).toEqual([])
  },
  60_000,
)

test('sealed arguments of another call, and arguments that an approval does not name, are not executed', async () => {
  await using server = await startWriter('process')
  await createSecret(server)
  const one = await waiting(server, GATE, WRITE)
  const other = await waiting(server, GATE, `printf %s ${SECRET} > theirs`)
  for (const id of [one, other]) await approve(server, id)
  await until(() => [one, other].every((id) => existsSync(file(server, id, 'begun'))))
  await server.kill(async () => {
    for (const id of [one, other]) writeFileSync(file(server, id, 'gate'), '')
    const [first, second] = await inStore(
      server,
      "SELECT about, text FROM notes WHERE kind = 'arguments' ORDER BY conversation",
    )
    await inStore(server, 'UPDATE notes SET text = ? WHERE about = ?', String(second!['text']), String(first!['about']))
    // Another approval than the one that a person gave.
    await inStore(
      server,
      `UPDATE events SET event = replace(event, '"digest":"', '"digest":"0') WHERE kind = 'ApprovalEvent'`,
    )
  })
  for (const id of [one, other]) {
    await server.until(id, 'finished')
    expect(ofKind(await server.events(id), 'AgentErrorEvent')).toMatchObject([
      { error: expect.stringContaining(REFUSED) as string },
    ])
  }
  expect([existsSync(file(server, one, 'out')), existsSync(file(server, other, 'theirs'))]).toEqual([false, false])
}, 60_000)

test('sealed arguments are deleted when the call is refused, and when its conversation is deleted; a fork has none', async () => {
  await using server = await startWriter('inside')
  await createSecret(server)
  const [refused, deleted, forked] = [await waiting(server), await waiting(server), await waiting(server)]
  expect(await notesIn(server)).toHaveLength(3)
  await post(server, refused, 'events/respond_to_confirmation', { accept: false, reason: 'no' })
  await server.until(refused, 'idle')
  await server.call('DELETE', `/api/conversations/${deleted}`)
  expect(await notesIn(server)).toHaveLength(1)
  const { body: fork } = await post(server, forked, 'fork', {})
  expect(await notesIn(server)).toHaveLength(1)
  await server.restart()
  await post(server, fork.id, 'run')
  await server.until(fork.id, 'finished', 'idle')
  expect(existsSync(file(server, forked, 'out'))).toBe(false)
  await approve(server, forked)
  await server.until(forked, 'finished')
  expect(textOf(file(server, forked, 'out'))).toBe(SECRET)
}, 60_000)

test('arguments of more than a million characters are not kept, and the call is refused after a restart', async () => {
  await using server = await startWriter('inside')
  await createSecret(server)
  const id = await waiting(server, `${WRITE} # ${'x'.repeat(1024 * 1024)}`)
  expect(await notesIn(server)).toEqual([])
  await server.restart()
  await approve(server, id)
  await server.until(id, 'finished')
  expect(existsSync(file(server, id, 'out'))).toBe(false)
}, 60_000)

test('the arguments of a sub-agent belong to its own conversation, and are executed after a restart', async () => {
  const command = `printf %s ${SECRET} >> child`
  await using server = await startRunning(({ view }): Loose => {
    if (view.toolResults.length > 0) return { text: 'done' }
    if (view.lastUserText.includes('[child]')) return { toolCalls: [terminal(command)] }
    return { toolCalls: [{ name: 'task', arguments: { prompt: '[child] go' } }] }
  })
  await createSecret(server)
  const llm = { model: 'openai/scripted', base_url: `${server.model.url}/v1`, api_key: 'k', num_retries: 0 }
  const agent = { kind: 'Agent', llm, tools: [{ name: 'terminal' }, { name: 'task_tool_set' }] }
  const id = await server.start({ agent, autotitle: false, confirmation_policy: ALWAYS })
  await server.say(id, 'go')
  await server.until(id, 'waiting_for_confirmation')
  await approve(server, id)
  await until(async () => {
    const { execution_status } = (await server.call('GET', `/api/conversations/${id}`)).body
    return execution_status === 'waiting_for_confirmation' && (await notesIn(server)).length === 1
  }, 60_000)
  await server.restart()
  await server.until(id, 'waiting_for_confirmation')
  await approve(server, id)
  await server.until(id, 'finished')
  expect(textOf(file(server, id, 'child'))).toBe(SECRET)
  expect(await notesIn(server)).toEqual([])
}, 60_000)
