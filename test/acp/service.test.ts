/** External agents with goals, webhooks, logs, unloading and another owner. Source: agent-core.md 11. */
import { writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import { startScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { startServerProcess } from '../../packages/server/testing/server-process.ts'
import { startTestServer, type TestServer } from '../../packages/server/testing/server.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { startWebhookReceiver } from '../../packages/server/testing/webhook-receiver.ts'
import { until } from '../../packages/server/testing/until.ts'
import { conversation as conversationOf, llmOf } from '../../packages/server/testing/conversations.ts'
import { WEBHOOK_SECRET, webhookEnv } from '../../packages/server/testing/webhook-servers.ts'
import {
  startAcpConversation,
  errors,
  finishes,
  hasEnded,
  writeScript,
} from '../../packages/server/testing/acp-conversations.ts'

const call = (id: string) => ({
  update: { sessionUpdate: 'tool_call', toolCallId: id, title: id, kind: 'other', status: 'pending' },
})
const permission = { toolCallId: 'p', title: 'touch', kind: 'execute', rawInput: { command: 'touch x' } }

const epochOf = (server: TestServer, id: string): number => {
  using database = new DatabaseSync(server.dir.file('data', 'parley.db'), { readOnly: true })
  return Number(database.prepare('SELECT epoch FROM conversations WHERE id = ?').get(id)?.['epoch'])
}

// Each test has its own server.
describe.concurrent('ACP agents in the service', () => {
  describe('a goal (3.7)', () => {
    const judging = () =>
      startScriptedModel({
        respond: (_, n) => ({ text: JSON.stringify({ score: 0.5, complete: n > 0, missing: 'the tests' }) }),
      })

    test.each(['agent.llm', 'the settings of its user'])(
      'a goal of an ACP agent is judged by the model of %s',
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
        const acp = writeScript(server.dir, { turns: [[{ say: 'done' }], [{ say: 'tested' }]] })
        const conversation = await startAcpConversation(
          server,
          acp,
          null,
          where === 'agent.llm' ? { agent: { llm } } : {},
        )
        expect((await conversation.post('goal', { objective: 'Make it work.' })).status).toBe(200)
        await until(async () => finishes(await conversation.events()).length === 2)
        await conversation.is('finished', 'error')
        const goals = (await conversation.events()).filter(({ key }) => key === 'goal').map(({ value }) => value.status)
        expect(goals).toEqual(['running', 'running', 'complete'])
        expect(acp.prompts()[0]).toEqual(['Make it work.'])
        expect(acp.prompts()[1]![0]).toContain('What is missing: the tests')
        expect(model.requests.map(({ body }) => body.model)).toEqual(['scripted', 'scripted'])
        expect((await conversation.info()).stats.usage_to_metrics).toHaveProperty('goal-judge')
      },
      60_000,
    )

    test('a goal of an ACP agent without a judging model is refused with a solution', async () => {
      await using server = await startTestServer()
      const acp = writeScript(server.dir, {})
      const conversation = await startAcpConversation(server, acp, null)
      const { status, body } = await conversation.post('goal', { objective: 'Make it work.' })
      expect(status).toBe(400)
      expect(JSON.stringify(body)).toMatch(/A goal needs a model .*llm_model.*\/api\/settings/)
      expect((await conversation.info()).execution_status).toBe('idle')
      expect(acp.starts()).toEqual([])
    }, 60_000)
  })

  test('webhooks contain the calls and the answer of an ACP agent without its secrets', async () => {
    await using receiver = await startWebhookReceiver({ secret: WEBHOOK_SECRET })
    await using server = await startTestServer(webhookEnv([receiver.url], { events: true }))
    const acp = writeScript(server.dir, { turns: [[call('a'), { say: 'my key is a-secret-to-tell' }]] })
    const conversation = await startAcpConversation(server, acp, 'hello', { secrets: { TOLD: 'a-secret-to-tell' } })
    await conversation.is('finished', 'error')
    const received = () => receiver.accepted.flatMap(({ body }) => (Array.isArray(body) ? body : [body]))
    await until(() => received().some(({ action }) => action?.kind === 'FinishAction'))
    expect(
      received()
        .filter(({ kind }) => kind === 'ACPToolCallEvent')
        .map(({ status }) => status),
    ).toEqual(['pending', 'completed'])
    expect(receiver.about(conversation.id).some(({ body }) => body.agent?.kind === 'ACPAgent')).toBe(true)
    expect(receiver.attempts.map(({ text }) => text).join('\n')).not.toContain('a-secret-to-tell')
    expect(receiver.faults).toEqual([])
  }, 60_000)

  test('other output of an ACP agent and missing variables of its credentials are logged without secrets (11.1, 11.12)', async () => {
    await using dir = await tempDir()
    await using server = await startServerProcess({ dataDir: dir.file('data') })
    const secret = 'a-secret-in-the-log'
    const acp = writeScript(dir, {
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
    const conversation = await startAcpConversation({ dir, call: server.call }, acp, 'hello', {
      secrets,
      agent: { acp_resume_session_id: 'a-session-of-long-ago' },
    })
    await conversation.is('finished', 'error')
    await until(() => ['banner', 'oh no', 'yyy'].every((text) => server.stderr().includes(text)))
    const log = server.stderr()
    expect(log).toContain('banner with <secret-hidden>')
    expect(log).toContain('oh no, <secret-hidden>')
    expect(log).toContain('y'.repeat(4000))
    expect(log).not.toContain('y'.repeat(4001))
    expect(log).toMatch(/GOOGLE_CLOUD_PROJECT.*GOOGLE_CLOUD_LOCATION/)
    // A session id in the log would be enough to resume the session.
    expect(log).toContain('session not resumed by the external agent')
    for (const hidden of [secret, 'service_account', 'a-session-of-long-ago']) expect(log).not.toContain(hidden)
  }, 60_000)

  describe('unloading', () => {
    /** Waits until another idle conversation was unloaded, so that an idle one would have been too. */
    const others = async (server: TestServer) => {
      const other = await startAcpConversation(server, writeScript(server.dir, {}), null)
      const before = epochOf(server, other.id)
      while (epochOf(server, other.id) < before + 2) {
        await new Promise((resolve) => setTimeout(resolve, 300))
        await other.post('pause')
      }
    }

    test('a conversation with an open ACP prompt is not unloaded, even while a person decides (11.7)', async () => {
      await using server = await startTestServer({ PARLEY_IDLE_UNLOAD_SECONDS: '0.05' })
      const go = server.dir.file('go')
      const working = writeScript(server.dir, { turns: [[call('a'), { until: go }, { say: 'done' }]] })
      const asking = writeScript(server.dir, { turns: [[{ say: 'before ' }, { permission }, { say: 'after' }]] })
      const works = await startAcpConversation(server, working)
      const asks = await startAcpConversation(server, asking, 'go', { confirmation_policy: { kind: 'AlwaysConfirm' } })
      await asks.is('waiting_for_confirmation')
      await until(() => working.prompts().length === 1)
      const before = [epochOf(server, works.id), epochOf(server, asks.id)]
      await others(server)
      expect([epochOf(server, works.id), epochOf(server, asks.id)]).toEqual(before)
      writeFileSync(go, '')
      await asks.post('events/respond_to_confirmation', { accept: true })
      for (const conversation of [works, asks]) await conversation.is('finished', 'error')
      expect(finishes(await works.events())).toEqual(['done'])
      expect(finishes(await asks.events())).toEqual(['before after'])
      expect([working, asking].map((acp) => [acp.starts().length, acp.prompts().length])).toEqual([
        [1, 1],
        [1, 1],
      ])
      // Without an open prompt, it is unloaded and its process ends.
      await until(() => hasEnded(working.starts()[0].pid) && hasEnded(asking.starts()[0].pid), 30_000)
    }, 90_000)
  })

  test('a server that loses a conversation during an ACP prompt stores nothing more and ends the agent process', async () => {
    await using dir = await tempDir()
    const options = { dataDir: dir.file('data') }
    const go = dir.file('go')
    const acp = writeScript(dir, {
      turns: [[call('a'), { until: go }, call('b'), { say: 'too late' }], [{ say: 'by the next owner' }]],
    })
    const first = await startServerProcess(options)
    const conversation = await startAcpConversation({ dir, call: first.call }, acp, 'do it')
    await until(async () => (await conversation.kinds('ACPToolCallEvent')).length === 1)
    const before = (await conversation.events()).map(({ id }) => id)
    {
      using database = new DatabaseSync(dir.file('data', 'parley.db'))
      database.exec('PRAGMA busy_timeout = 20000')
      database.prepare('UPDATE conversations SET epoch = epoch + 1 WHERE id = ?').run(conversation.id)
    }
    writeFileSync(go, '')
    await until(() => hasEnded(acp.starts()[0].pid), 30_000)
    expect((await conversation.events()).map(({ id }) => id)).toEqual(before)
    await first[Symbol.asyncDispose]()
    // The next owner sends the message again to the same session, with a warning.
    await using second = await startServerProcess(options)
    const again = conversationOf(second, conversation.id)
    await again.is('finished', 'error')
    expect(finishes(await again.events())).toEqual(['by the next owner'])
    expect(errors(await again.events())).toEqual([])
    expect(acp.of('session/load').map(({ params }) => params.sessionId)).toEqual(['session-1'])
    expect(acp.prompts()[1]![0]).toContain('was interrupted')
  }, 90_000)
})
