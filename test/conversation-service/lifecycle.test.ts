import { randomUUID } from 'node:crypto'
import { access, readdir } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startGitServer, type GitServer } from '../../packages/server/testing/git-server.ts'
import { startScriptedModel, type ScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { tempDir, type TempDir } from '../../packages/server/testing/temp.ts'
import { processesOf } from '../../packages/server/testing/processes.ts'
import { until } from '../../packages/server/testing/until.ts'
import { verifies } from '../verifies.ts'
import {
  finish,
  outputs,
  phasesOf,
  run,
  serveAnn,
  userTexts,
  type Ann,
} from '../../packages/server/testing/conversation-starts.ts'

const REPOSITORY = { repository: 'acme/shop', git_provider: 'gitlab' }
const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  )
/** Processes of git in any workspace. */
const gitOf = async (dir: TempDir) =>
  (await processesOf(dir.file('data'), dir.file('data', 'workspaces'))).filter(({ command }) =>
    /^\S*git\b/.test(command),
  )
const say = (ann: Ann, id: string, text: string, isRun = true) =>
  ann.call('POST', `/api/conversations/${id}/events`, {
    role: 'user',
    content: [{ type: 'text', text }],
    run: isRun,
  })

describe('a start that waits for a host', () => {
  let stack: AsyncDisposableStack
  let dir: TempDir
  let git: GitServer
  let model: ScriptedModel
  beforeAll(async () => {
    stack = new AsyncDisposableStack()
    dir = stack.use(await tempDir())
    git = stack.use(await startGitServer())
    await git.add('acme/shop')
    model = stack.use(await startScriptedModel({ by: 'turn', answers: [run('git branch --show-current'), finish] }))
  })
  afterAll(() => stack.disposeAsync())

  /** Starts a conversation whose clone hangs. */
  async function hanging(ann: Ann, members: object = { initial_user_msg: 'go' }): Promise<string> {
    git.mode = 'silent'
    const asked = git.requests.length
    const id = await ann.create({ ...REPOSITORY, ...members })
    await until(() => git.requests.length > asked)
    expect((await gitOf(dir)).length).toBeGreaterThan(0)
    expect(await ann.progress(id)).toMatchObject({ status: 'STARTING', phase: 'repository' })
    return id
  }

  verifies(
    ['design.start.request-time', 'design.start.200-starting', 'design.start.wait'],
    'New Conversation answers at once; with a preference it waits as long as it was told',
    async () => {
      await using ann = await serveAnn(dir.file('data'), { git, model })
      git.mode = 'silent'
      const timed = async (headers: Record<string, string> = {}) => {
        const begun = performance.now()
        const { status, json } = await ann.call('POST', '/api/conversations', REPOSITORY, headers)
        return { status, json, ms: performance.now() - begun }
      }
      const plain = await timed()
      expect(plain).toMatchObject({ status: 200, json: { status: 'ok', conversation_status: 'STARTING' } })
      expect(plain.ms).toBeLessThan(5000)
      const waited = await timed({ prefer: 'wait=1' })
      expect(waited).toMatchObject({ status: 200, json: { conversation_status: 'STARTING' } })
      expect(waited.ms).toBeGreaterThan(950)
      git.mode = 'open'
      const ended = await timed({ prefer: 'wait=30' })
      expect(ended).toMatchObject({ status: 200, json: { conversation_status: 'RUNNING' } })
      expect(await ann.progress(ended.json.conversation_id)).toMatchObject({ phase: 'ready', execution_status: 'idle' })
      for (const { json } of [plain, waited]) await ann.call('DELETE', `/api/conversations/${json.conversation_id}`)
      await until(async () => (await gitOf(dir)).length === 0)
    },
  )

  test('messages that arrive during a start are delivered after it, in order', async () => {
    await using ann = await serveAnn(dir.file('data'), { git, model })
    const id = await hanging(ann)
    await say(ann, id, 'and this')
    git.mode = 'open'
    git.hangUp()
    await ann.progressWhen(id, ({ status }) => status === 'STOPPED')
    await ann.call('POST', `/api/conversations/${id}/start`)
    await ann.progressWhen(id, ({ execution_status }) => execution_status === 'finished')
    expect(userTexts(await ann.events(id))).toEqual(['go', 'and this'])
  })

  test.each(['stop', 'interrupt'])(
    '%s cancels a waiting start, which resumes from its phase when it is started again',
    async (how) => {
      await using ann = await serveAnn(dir.file('data'), { git, model })
      const id = await hanging(ann)
      const { status, json } = await ann.call('POST', `/api/conversations/${id}/${how}`)
      expect(status).toBe(200)
      if (how === 'stop') expect(json).toMatchObject({ status: 'ok', conversation_status: 'STARTING' })
      expect(await ann.progress(id)).toMatchObject({
        status: 'STOPPED',
        runtime_status: 'STATUS$STOPPED',
        code: 'STATUS$STOPPED',
        execution_status: 'paused',
        phase: 'repository',
      })
      await until(async () => (await gitOf(dir)).length === 0)
      git.mode = 'open'
      await ann.call('POST', `/api/conversations/${id}/start`)
      await ann.progressWhen(id, ({ execution_status }) => execution_status === 'finished')
      const events = await ann.events(id)
      expect(userTexts(events)).toEqual(['go'])
      expect(outputs(events)[0]).toContain(`parley/${id.slice(0, 8)}`)
    },
  )

  test.each([
    ['with a message', { initial_user_msg: 'go' }],
    ['without one', {}],
  ])('a start survives a killed server, and the next server repeats the clone, %s', async (_, members) => {
    let id: string
    {
      await using ann = await serveAnn(dir.file('data'), { git, model })
      id = await hanging(ann, members)
      await ann.kill()
    }
    git.mode = 'open'
    await using ann = await serveAnn(dir.file('data'), { git, model })
    // The start continues without a request.
    await until(() => exists(dir.file('data', 'workspaces', id, 'shop', 'README.md')))
    await ann.progressWhen(id, ({ phase }) => phase === 'ready')
    const isRun = 'initial_user_msg' in members
    await ann.progressWhen(id, ({ execution_status }) => execution_status === (isRun ? 'finished' : 'idle'))
    const events = await ann.events(id)
    expect(userTexts(events)).toEqual(isRun ? ['go'] : [])
    expect(phasesOf(events).filter((phase) => phase === 'workspace done')).toHaveLength(1)
    expect(await readdir(dir.file('data', 'workspaces', id))).toEqual(['shop'])
    await until(async () => (await gitOf(dir)).length === 0)
  })
})

describe('a conversation', () => {
  let stack: AsyncDisposableStack
  let dir: TempDir
  let model: ScriptedModel
  beforeAll(async () => {
    stack = new AsyncDisposableStack()
    dir = stack.use(await tempDir())
    model = stack.use(
      await startScriptedModel({
        respond: ({ view }) => (view.assistantTurns === 0 ? run('echo begun; sleep 300') : finish),
      }),
    )
  })
  afterAll(() => stack.disposeAsync())

  const sleepers = async () => (await processesOf(dir.file('data'), 'sleep 300')).length

  verifies(
    ['seed.conversation-status.starting', 'seed.conversation-status.running', 'seed.conversation-status.stopped'],
    'a stopped conversation ends its processes, stays stopped over a restart, and accepts messages after a start',
    async () => {
      let id: string
      {
        await using ann = await serveAnn(dir.file('data'), { model })
        id = await ann.create({ initial_user_msg: 'go' })
        await until(async () => (await sleepers()) > 0)
        const stop = () => ann.call('POST', `/api/conversations/${id}/stop`)
        expect((await stop()).json).toEqual({
          status: 'ok',
          conversation_id: id,
          message: 'Conversation stopped successfully',
          conversation_status: 'RUNNING',
        })
        expect(await sleepers()).toBe(0)
        expect(await ann.progress(id)).toMatchObject({ status: 'STOPPED', execution_status: 'paused' })
        expect((await stop()).json).toMatchObject({
          message: 'Conversation was not running',
          conversation_status: 'STOPPED',
        })
        await ann.kill()
      }
      await using ann = await serveAnn(dir.file('data'), { model })
      await ann.call('PATCH', `/api/conversations/${id}`, { title: 'Stopped' })
      expect(await ann.progress(id)).toMatchObject({
        status: 'STOPPED',
        code: 'STATUS$STOPPED',
        title: 'Stopped',
        reason: 'The conversation was stopped.',
      })
      const started = await ann.call('POST', `/api/conversations/${id}/start`, { providers_set: ['github'] })
      expect(started.json).toMatchObject({ status: 'ok', message: null })
      await ann.progressWhen(id, ({ status }) => status === 'RUNNING')
      await say(ann, id, 'go on')
      await ann.progressWhen(id, ({ execution_status }) => execution_status === 'finished')
      expect(userTexts(await ann.events(id))).toEqual(['go', 'go on'])
    },
  )

  test('a stopped conversation is started by the next message', async () => {
    await using ann = await serveAnn(dir.file('data'), { model })
    const { conversation_id: id } = await ann.begin({})
    await ann.call('POST', `/api/conversations/${id}/stop`)
    expect(await ann.progress(id)).toMatchObject({ status: 'STOPPED', execution_status: 'idle' })
    await say(ann, id, 'go')
    await until(async () => (await sleepers()) > 0)
    expect(await ann.progress(id)).toMatchObject({ status: 'RUNNING', execution_status: 'running' })
    await ann.call('POST', `/api/conversations/${id}/stop`)
  })

  test('a started conversation is not started again', async () => {
    await using ann = await serveAnn(dir.file('data'), { model })
    const { conversation_id: id } = await ann.begin({})
    const before = await ann.events(id)
    const { json } = await ann.call('POST', `/api/conversations/${id}/start`)
    expect(json).toMatchObject({ status: 'ok', conversation_status: 'RUNNING' })
    expect(await ann.events(id)).toEqual(before)
  })

  test('the life cycle of a conversation of another user is answered like that of an unknown one', async () => {
    await using ann = await serveAnn(dir.file('data'), { model })
    const { conversation_id: id } = await ann.begin({})
    for (const unknown of [id, randomUUID()]) {
      const status = await ann.asBob('GET', `/api/conversations/${unknown}/status`)
      expect([status.status, status.json]).toEqual([404, { detail: 'Conversation not found' }])
      for (const path of ['start', 'stop']) {
        const { status: code, json } = await ann.asBob('POST', `/api/conversations/${unknown}/${path}`)
        expect([code, json]).toEqual([
          404,
          { status: 'error', conversation_id: unknown, detail: 'Conversation not found' },
        ])
      }
    }
    expect((await ann.progress(id)).status).toBe('RUNNING')
  })
})
