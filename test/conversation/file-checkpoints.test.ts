/** Checkpoints of files: forks, navigation and recovery. docs/operations.md, Checkpoints of files. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { finish, run, serveAnn } from '../../packages/server/testing/conversation-starts.ts'
import { fileTree } from '../../packages/server/testing/file-tree.ts'
import { ofKind, startRunning, type Loose, type Running } from '../../packages/server/testing/restartable-server.ts'
import { startScriptedModel, type ScriptedModelOptions } from '../../packages/server/testing/scripted-model.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { until } from '../../packages/server/testing/until.ts'
import { queryStore } from '../../packages/server/testing/chosen-store.ts'

/** A message `RUN command` lets the agent run the command, then it answers. */
const obey: NonNullable<ScriptedModelOptions['respond']> = ({ body, view }) => {
  const messages = body['messages'] as { role: string }[]
  const [, command] = /RUN (.*)$/s.exec(view.lastUserText) ?? []
  return messages.at(-1)!.role === 'tool' || command === undefined ? { text: 'done' } : run(command)
}

/** One server for all conversations that need no other. */
let server: Running
beforeAll(async () => {
  server = await startRunning(obey)
})
afterAll(() => server[Symbol.asyncDispose]())

async function turn(id: string, command: string): Promise<void> {
  await server.say(id, `RUN ${command}`)
  await server.until(id, 'finished')
}

const navigate = (id: string, event_id: string | null, restore_files = true) =>
  server.call('POST', `/api/conversations/${id}/navigate`, { event_id, restore_files })

const fork = (id: string, body: object = {}) => server.call('POST', `/api/conversations/${id}/fork`, body)

const workOf = ({ body }: { body: Loose }): string => body.workspace.working_dir

/** Ids of the events of one kind. */
const idsOf = async (id: string, kind: string): Promise<string[]> =>
  ofKind(await server.events(id), kind).map((event) => event.id)

test('a fork starts in a copy of the files as they were at its event, and works there', async () => {
  const id = await server.start({ file_checkpoints: true })
  await turn(id, 'echo one >a; mkdir d; echo x >d/x')
  await turn(id, 'echo two >a; rm -r d')
  const [first] = await idsOf(id, 'ObservationEvent')
  const made = await fork(id, { from_event_id: first })
  expect(made).toMatchObject({ status: 201, body: { files: { outcome: 'copied', detail: null } } })
  const copy = workOf(made)
  expect(copy).toBe(server.file('data', 'workspaces', made.body.id))
  expect(fileTree(copy)).toEqual({ a: 'one\n', 'd/x': 'x\n' })
  await turn(made.body.id, 'echo fork >$PWD/b')
  expect(fileTree(copy)).toEqual({ a: 'one\n', 'd/x': 'x\n', b: 'fork\n' })
  expect(fileTree(server.work(id))).toEqual({ a: 'two\n' })
}, 60_000)

test('a fork of a fork starts with the files of an event that both share', async () => {
  const id = await server.start({ file_checkpoints: true })
  await turn(id, 'echo one >a')
  await turn(id, 'echo two >a')
  const [first, second] = await idsOf(id, 'ObservationEvent')
  const child = await fork(id, { from_event_id: second })
  await turn(child.body.id, 'echo three >a')
  await server.call('DELETE', `/api/conversations/${id}`)
  const grandchild = await fork(child.body.id, { from_event_id: first })
  expect(fileTree(workOf(grandchild))).toEqual({ a: 'one\n' })
}, 60_000)

test('a fork of a whole conversation contains what a person has changed since', async () => {
  const id = await server.start({ file_checkpoints: true })
  await turn(id, 'echo one >a')
  writeFileSync(join(server.work(id), 'mine'), 'by hand')
  expect(fileTree(workOf(await fork(id)))).toEqual({ a: 'one\n', mine: 'by hand' })
}, 60_000)

test('the repository of the workspace works in a fork', async () => {
  const id = await server.start({ file_checkpoints: true })
  const commit = 'git -c user.name=a -c user.email=a@b commit -qm first'
  await turn(id, `git init -q . && echo one >a && git add a && ${commit} && echo two >a`)
  const copy = workOf(await fork(id))
  const git = (...args: string[]) => execFileSync('git', args, { cwd: copy }).toString()
  expect(git('log', '--format=%s')).toBe('first\n')
  expect(git('status', '--porcelain')).toBe(' M a\n')
  git('-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-qam', 'second')
  expect(execFileSync('git', ['log', '--format=%s'], { cwd: server.work(id) }).toString()).toBe('first\n')
}, 60_000)

test('the agent of a fork learns its working directory, and no step is owed for that', async () => {
  const id = await server.start({ file_checkpoints: true })
  await turn(id, 'echo one >a')
  const made = await fork(id)
  const asked = server.model.requests.length
  await server.call('POST', `/api/conversations/${made.body.id}/run`)
  await server.until(made.body.id, 'finished')
  expect(server.model.requests).toHaveLength(asked)
  await turn(made.body.id, 'pwd')
  expect(server.model.requests.at(-1)!.text).toContain(`your working directory is now ${workOf(made)}`)
}, 60_000)

test('a navigation with restore_files returns the files of its event, and loses none of those before', async () => {
  const id = await server.start({ file_checkpoints: true })
  await turn(id, 'echo one >a')
  await turn(id, 'echo two >a; echo x >b')
  const [first, second] = await idsOf(id, 'ObservationEvent')
  const [message] = await idsOf(id, 'MessageEvent')
  const work = server.work(id)
  writeFileSync(join(work, 'mine'), 'by hand')
  expect(await navigate(id, first!)).toMatchObject({ status: 200, body: { leaf_event_id: first } })
  expect(fileTree(work)).toEqual({ a: 'one\n' })
  await navigate(id, message!)
  expect(fileTree(work)).toEqual({})
  await navigate(id, second!)
  expect(fileTree(work)).toEqual({ a: 'two\n', b: 'x\n' })
  await turn(id, 'echo on >c')
  expect(fileTree(work)).toEqual({ a: 'two\n', b: 'x\n', c: 'on\n' })
  // The files that a person had changed belong to the event that they followed.
  const ends = (await server.events(id)).filter(({ source, kind }) => kind === 'MessageEvent' && source === 'agent')
  await navigate(id, ends[1].id)
  expect(fileTree(work)).toEqual({ a: 'two\n', b: 'x\n', mine: 'by hand' })
}, 60_000)

test('a navigation without restore_files changes no file', async () => {
  const id = await server.start({ file_checkpoints: true })
  await turn(id, 'echo one >a')
  await navigate(id, null, false)
  expect(fileTree(server.work(id))).toEqual({ a: 'one\n' })
}, 60_000)

test('a directory that the user named has no checkpoints: restoring is refused, and a fork shares it', async () => {
  const id = await server.start()
  await turn(id, 'echo one >a')
  const [message] = await idsOf(id, 'MessageEvent')
  const refused = await navigate(id, message!)
  expect(refused).toMatchObject({ status: 409, body: { detail: expect.stringContaining('restore_files') } })
  expect((await server.call('GET', `/api/conversations/${id}`)).body.leaf_event_id).not.toBe(message)
  const made = await fork(id)
  expect(workOf(made)).toBe(server.work(id))
  const files = { outcome: 'shared', detail: expect.stringContaining('no checkpoints') }
  expect(made).toMatchObject({ status: 201, body: { files } })
  expect(existsSync(server.file('data', 'conversations', id, 'checkpoints.git'))).toBe(false)
}, 60_000)

test('checkpoints continue after a restart, and are removed with their conversation', async () => {
  const id = await server.start({ file_checkpoints: true })
  await turn(id, 'echo one >a')
  await server.restart()
  await turn(id, 'echo two >a')
  const [first] = await idsOf(id, 'ObservationEvent')
  await navigate(id, first!)
  expect(fileTree(server.work(id))).toEqual({ a: 'one\n' })
  const folder = server.file('data', 'conversations', id)
  expect(statSync(join(folder, 'checkpoints.git')).mode & 0o077).toBe(0)
  await server.call('DELETE', `/api/conversations/${id}`)
  expect(existsSync(folder)).toBe(false)
}, 60_000)

test('damaged checkpoints refuse a fork and a restore, and leave nothing behind', async () => {
  const id = await server.start({ file_checkpoints: true })
  await turn(id, 'echo one >a')
  await turn(id, 'echo two >a')
  const [first] = await idsOf(id, 'ObservationEvent')
  rmSync(server.file('data', 'conversations', id, 'checkpoints.git', 'objects'), { recursive: true })
  const copy = crypto.randomUUID()
  expect((await fork(id, { id: copy, from_event_id: first })).status).toBe(503)
  expect((await server.call('GET', `/api/conversations/${copy}`)).status).toBe(404)
  expect(existsSync(server.file('data', 'workspaces', copy))).toBe(false)
  expect((await navigate(id, first!)).status).toBe(503)
}, 60_000)

test('a fork with a taken id changes no file of the conversation that has it', async () => {
  const id = await server.start({ file_checkpoints: true })
  await turn(id, 'echo one >a')
  const made = await fork(id)
  await turn(made.body.id, 'echo own >a')
  expect((await fork(id, { id: made.body.id })).status).toBe(409)
  expect(fileTree(workOf(made))).toEqual({ a: 'own\n' })
  // The directory of a deleted conversation holds work, too.
  await server.call('DELETE', `/api/conversations/${made.body.id}`)
  const refused = await fork(id, { id: made.body.id })
  expect(refused).toMatchObject({ status: 409, body: { detail: expect.stringContaining('earlier conversation') } })
  expect(fileTree(workOf(made))).toEqual({ a: 'own\n' })
}, 60_000)

test('a conversation without a named directory has checkpoints, and another user reaches neither them nor a fork', async () => {
  await using dir = await tempDir()
  await using model = await startScriptedModel({
    by: 'turn',
    answers: [run('echo one >a'), run('echo two >a'), finish],
  })
  await using ann = await serveAnn(dir.file('data'), { model })
  const { conversation_id: id } = await ann.begin({ initial_user_msg: 'go' })
  await ann.progressWhen(
    id,
    ({ runtime_status, conversation_status }) =>
      conversation_status !== 'STARTING' && runtime_status !== 'STATUS$RUNNING',
  )
  const observed = (await ann.events(id)).filter(({ kind }) => kind === 'ObservationEvent')
  const body = { from_event_id: observed[0].id }
  expect((await ann.asBob('POST', `/api/conversations/${id}/fork`, body)).status).toBe(404)
  const restore = { event_id: observed[0].id, restore_files: true }
  expect((await ann.asBob('POST', `/api/conversations/${id}/navigate`, restore)).status).toBe(404)
  const { status, json } = await ann.call('POST', `/api/conversations/${id}/fork`, body)
  expect(status).toBe(201)
  expect(readFileSync(join(json.workspace.working_dir, 'a'), 'utf8')).toBe('one\n')
  expect(readFileSync(join((await ann.info(id)).workspace.working_dir, 'a'), 'utf8')).toBe('two\n')
}, 60_000)

const checkpointsAfterCalls = async (dataDir: string): Promise<unknown> =>
  (await queryStore(dataDir, 'SELECT count(*) AS n FROM checkpoints WHERE seq > 0'))[0]!['n']

/** A server of its own that is killed while the model answers the second request of a turn. */
async function killedDuringAnAnswer(meanwhile: (work: string) => void) {
  const asked = Promise.withResolvers<void>()
  let isHeld = true
  const killed = await startRunning(
    async (request) => {
      const answer = await obey(request, 0)
      if (!('text' in answer) || !isHeld) return answer
      asked.resolve()
      isHeld = false
      await new Promise((resolve) => request.over.then(resolve))
      return answer
    },
    {},
    'process',
  )
  const id = await killed.start({ file_checkpoints: true })
  await killed.say(id, 'RUN echo one >a')
  await asked.promise
  // The checkpoint is made while the model works.
  await until(async () => (await checkpointsAfterCalls(killed.file('data'))) === 1)
  await killed.kill(() => meanwhile(killed.work(id)))
  await killed.until(id, 'finished')
  const notes = ofKind(await killed.events(id), 'MessageEvent').filter(({ source }) => source === 'environment')
  return { notes, [Symbol.asyncDispose]: () => killed[Symbol.asyncDispose]() }
}

test.concurrent('after a crash, the agent reads which files differ from the last checkpoint', async () => {
  await using killed = await killedDuringAnAnswer((work) => {
    writeFileSync(join(work, 'a'), 'changed')
    writeFileSync(join(work, 'new\nname'), '')
  })
  expect(killed.notes).toHaveLength(1)
  const [{ text }] = killed.notes[0].llm_message.content
  expect(text).toContain('- "a" (changed)\n- "new\\nname" (added)')
}, 60_000)

test.concurrent('after a crash that changed no file, the agent reads nothing about files', async () => {
  await using killed = await killedDuringAnAnswer(() => undefined)
  expect(killed.notes).toEqual([])
}, 60_000)
