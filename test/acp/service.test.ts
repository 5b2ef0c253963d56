/** An external agent among the rest of the service: goals, webhooks, the log, leaving memory, another owner. Source: agent-core.md 11. */
import { writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import { startScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { startServerProcess } from '../../packages/server/testing/server-process.ts'
import { startTestServer, type TestServer } from '../../packages/server/testing/server.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { receivedUntil, startWebhookReceiver } from '../../packages/server/testing/webhook-receiver.ts'
import { until } from '../crash/watching.ts'
import { conversation, llmOf } from '../run/running.ts'
import { SECRET, telling } from '../webhooks/serving.ts'
import { begin, errors, finishes, gone, script } from './acting.ts'

const call = (id: string) => ({
  update: { sessionUpdate: 'tool_call', toolCallId: id, title: id, kind: 'other', status: 'pending' },
})
const permission = { toolCallId: 'p', title: 'touch', kind: 'execute', rawInput: { command: 'touch x' } }

const epochOf = (server: TestServer, id: string): number => {
  using database = new DatabaseSync(server.dir.file('data', 'parley.db'), { readOnly: true })
  return Number(database.prepare('SELECT epoch FROM conversations WHERE id = ?').get(id)?.['epoch'])
}

// Each with a server of its own.
describe.concurrent('an external agent', () => {
  describe('a goal (3.7)', () => {
    const judging = () =>
      startScriptedModel({
        respond: (_, n) => ({ text: JSON.stringify({ score: 0.5, complete: n > 0, missing: 'the tests' }) }),
      })

    test.each(['agent.llm', 'the settings of its user'])(
      'is judged by the model of %s',
      async (where) => {
        await using server = await startTestServer()
        await using model = await judging()
        const llm = llmOf(model)
        if (where !== 'agent.llm') {
          const { status } = await server.call('POST', '/api/settings', {
            llm_model: llm.model,
            llm_base_url: llm.base_url,
            llm_api_key: llm.api_key,
          })
          expect(status).toBeLessThan(300)
        }
        const acp = script(server.dir, { turns: [[{ say: 'done' }], [{ say: 'tested' }]] })
        const said = await begin(server, acp, null, where === 'agent.llm' ? { agent: { llm } } : {})
        expect((await said.post('goal', { objective: 'Make it work.' })).status).toBe(200)
        await until(async () => finishes(await said.events()).length === 2)
        await said.is('finished', 'error')
        const goals = (await said.events()).filter(({ key }) => key === 'goal').map(({ value }) => value.status)
        expect(goals).toEqual(['running', 'running', 'complete'])
        expect(acp.prompts()[0]).toEqual(['Make it work.'])
        expect(acp.prompts()[1]![0]).toContain('What is missing: the tests')
        expect(model.requests.map(({ body }) => body.model)).toEqual(['scripted', 'scripted'])
        expect((await said.info()).stats.usage_to_metrics).toHaveProperty('goal-judge')
      },
      60_000,
    )

    test('is refused, with the way out, where nobody could judge', async () => {
      await using server = await startTestServer()
      const acp = script(server.dir, {})
      const said = await begin(server, acp, null)
      const { status, body } = await said.post('goal', { objective: 'Make it work.' })
      expect(status).toBe(400)
      expect(JSON.stringify(body)).toMatch(/A goal needs a model .*llm_model.*\/api\/settings/)
      expect((await said.info()).execution_status).toBe('idle')
      expect(acp.starts()).toEqual([])
    }, 60_000)
  })

  test('webhooks tell of its calls, its answer and its end as of any other, without its secrets', async () => {
    await using receiver = await startWebhookReceiver({ secret: SECRET })
    await using server = await startTestServer(telling([receiver.url], { events: true }))
    const acp = script(server.dir, { turns: [[call('a'), { say: 'my key is a-secret-to-tell' }]] })
    const said = await begin(server, acp, 'hello', { secrets: { TOLD: 'a-secret-to-tell' } })
    await said.is('finished', 'error')
    const told = () => receiver.taken.flatMap(({ body }) => (Array.isArray(body) ? body : [body]))
    await receivedUntil(() => told().some(({ action }) => action?.kind === 'FinishAction'))
    expect(
      told()
        .filter(({ kind }) => kind === 'ACPToolCallEvent')
        .map(({ status }) => status),
    ).toEqual(['pending', 'completed'])
    expect(receiver.about(said.id).some(({ body }) => body.agent?.kind === 'ACPAgent')).toBe(true)
    expect(receiver.attempts.map(({ text }) => text).join('\n')).not.toContain('a-secret-to-tell')
    expect(receiver.faults).toEqual([])
  }, 60_000)

  test('what it writes besides the protocol is logged without secrets, and so is what a credential lacks (11.1, 11.12)', async () => {
    await using dir = await tempDir()
    await using server = await startServerProcess({ dataDir: dir.file('data') })
    const secret = 'a-secret-in-the-log'
    const acp = script(dir, {
      turns: [
        [
          { noise: `banner with ${secret}` },
          { grumble: `oh no, ${secret}` },
          { grumble: 'y'.repeat(9000) },
          { say: 'x' },
        ],
      ],
    })
    const secrets = { LOGGED: secret, GOOGLE_APPLICATION_CREDENTIALS_JSON: '{"type":"service_account"}' }
    const said = await begin({ dir, call: server.call }, acp, 'hello', {
      secrets,
      agent: { acp_resume_session_id: 'a-session-of-long-ago' },
    })
    await said.is('finished', 'error')
    await until(() => ['banner', 'oh no', 'yyy'].every((text) => server.stderr().includes(text)))
    const log = server.stderr()
    expect(log).toContain('banner with <secret-hidden>')
    expect(log).toContain('oh no, <secret-hidden>')
    expect(log).toContain('y'.repeat(4000))
    expect(log).not.toContain('y'.repeat(4001))
    expect(log).toMatch(/GOOGLE_CLOUD_PROJECT.*GOOGLE_CLOUD_LOCATION/)
    // Who reads the log must not be able to take a session up.
    expect(log).toContain('cannot take the session up')
    for (const hidden of [secret, 'service_account', 'a-session-of-long-ago']) expect(log).not.toContain(hidden)
  }, 60_000)

  describe('leaving memory', () => {
    /** Longer than a conversation without work would stay, however slow the machine is: one that left in the same time says so. */
    const others = async (server: TestServer) => {
      const other = await begin(server, script(server.dir, {}), null)
      const before = epochOf(server, other.id)
      while (epochOf(server, other.id) < before + 2) {
        await new Promise((resolve) => setTimeout(resolve, 300))
        await other.post('pause')
      }
    }

    test('waits for a prompt that is open, also for one that a person is asked about (11.7)', async () => {
      await using server = await startTestServer({ PARLEY_IDLE_UNLOAD_SECONDS: '0.05' })
      const go = server.dir.file('go')
      const working = script(server.dir, { turns: [[call('a'), { until: go }, { say: 'done' }]] })
      const asking = script(server.dir, { turns: [[{ say: 'before ' }, { permission }, { say: 'after' }]] })
      const works = await begin(server, working)
      const asks = await begin(server, asking, 'go', { confirmation_policy: { kind: 'AlwaysConfirm' } })
      await asks.is('waiting_for_confirmation')
      await until(() => working.prompts().length === 1)
      const before = [epochOf(server, works.id), epochOf(server, asks.id)]
      await others(server)
      expect([epochOf(server, works.id), epochOf(server, asks.id)]).toEqual(before)
      writeFileSync(go, '')
      await asks.post('events/respond_to_confirmation', { accept: true })
      for (const said of [works, asks]) await said.is('finished', 'error')
      expect(finishes(await works.events())).toEqual(['done'])
      expect(finishes(await asks.events())).toEqual(['before after'])
      expect([working, asking].map((acp) => [acp.starts().length, acp.prompts().length])).toEqual([
        [1, 1],
        [1, 1],
      ])
      // Without a prompt it leaves, and its process with it.
      await until(() => gone(working.starts()[0].pid) && gone(asking.starts()[0].pid), 30_000)
    }, 90_000)
  })

  test('whoever loses the conversation in a prompt stores nothing more of it, and its process ends', async () => {
    await using dir = await tempDir()
    const options = { dataDir: dir.file('data') }
    const go = dir.file('go')
    const acp = script(dir, {
      turns: [[call('a'), { until: go }, call('b'), { say: 'too late' }], [{ say: 'by the next owner' }]],
    })
    const first = await startServerProcess(options)
    const said = await begin({ dir, call: first.call }, acp, 'do it')
    await until(async () => (await said.kinds('ACPToolCallEvent')).length === 1)
    const before = (await said.events()).map(({ id }) => id)
    {
      using database = new DatabaseSync(dir.file('data', 'parley.db'))
      database.exec('PRAGMA busy_timeout = 20000')
      database.prepare('UPDATE conversations SET epoch = epoch + 1 WHERE id = ?').run(said.id)
    }
    writeFileSync(go, '')
    await until(() => gone(acp.starts()[0].pid), 30_000)
    expect((await said.events()).map(({ id }) => id)).toEqual(before)
    await first[Symbol.asyncDispose]()
    // The next owner: the same session, and the message again, with a warning.
    await using second = await startServerProcess(options)
    const again = conversation(second, said.id)
    await again.is('finished', 'error')
    expect(finishes(await again.events())).toEqual(['by the next owner'])
    expect(errors(await again.events())).toEqual([])
    expect(acp.of('session/load').map(({ params }) => params.sessionId)).toEqual(['session-1'])
    expect(acp.prompts()[1]![0]).toContain('was interrupted')
  }, 90_000)
})
