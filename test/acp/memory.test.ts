/** Sessions that go on, and sessions that are lost. Source: agent-core.md 11.3 to 11.5, 11.10, 11.14; F36. */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startServerProcess } from '../../packages/server/testing/server-process.ts'
import { startTestServer, type TestServer } from '../../packages/server/testing/server.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { conversation } from '../run/running.ts'
import { until } from '../crash/watching.ts'
import { verifies } from '../verifies.ts'
import { begin, errors, finishes, gone, script } from './acting.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server[Symbol.asyncDispose]())

const call = (id: string, members: object = {}) => ({
  update: {
    sessionUpdate: 'tool_call',
    toolCallId: id,
    title: `call ${id}`,
    kind: 'execute',
    status: 'pending',
    ...members,
  },
})
const MARK = '<<RESUMED CONVERSATION>>'

// Each in a conversation of its own; most of their time is waiting.
describe.concurrent('a session', () => {
  describe('acp_resume_session_id', () => {
    test('names the session that a new conversation takes up', async () => {
      const acp = script(server.dir, { turns: [[{ say: 'one' }], [{ say: 'two' }]] })
      const before = await begin(server, acp, 'hello')
      await before.is('finished', 'error')
      const named = await begin(server, acp, 'again', {
        agent: { acp_resume_session_id: 'session-1' },
      })
      await named.is('finished', 'error')
      expect(acp.of('session/load').map(({ params }) => params.sessionId)).toEqual(['session-1'])
      expect(acp.of('session/prompt').map(({ params }) => params.sessionId)).toEqual(['session-1', 'session-1'])
    }, 60_000)

    verifies(
      'seed.agent.acp.acp_resume_session_id.fallback',
      'of a session that is gone: a fresh one, which is kept from then on',
      async () => {
        await using dir = await tempDir()
        const acp = script(dir, { turns: [[{ say: 'one' }], [{ say: 'two' }]] })
        const dataDir = dir.file('data')
        const first = await startServerProcess({ dataDir })
        const said = await begin({ dir, call: first.call }, acp, 'hello', {
          agent: { acp_resume_session_id: 'long-gone-session' },
        })
        await said.is('finished', 'error')
        expect(acp.of('session/load').map(({ params }) => params.sessionId)).toEqual(['long-gone-session'])
        await first[Symbol.asyncDispose]()
        await using second = await startServerProcess({ dataDir })
        const again = conversation(second, said.id)
        await again.say('more')
        await until(async () => finishes(await again.events()).length === 2)
        expect(acp.of('session/load').map(({ params }) => params.sessionId)).toEqual(['long-gone-session', 'session-1'])
        expect(acp.prompts().at(-1)).toEqual(['more'])
      },
      90_000,
    )

    verifies(
      'seed.agent.acp.acp_resume_session_id.secret',
      'is shown to nobody: not in answers, not in events, not at rest',
      async () => {
        await using server = await startTestServer()
        const acp = script(server.dir, { turns: [[{ say: 'one' }]] })
        const other = await begin(server, acp, 'make a session')
        await other.is('finished', 'error')
        const said = await begin(server, acp, 'hello', { agent: { acp_resume_session_id: 'session-1' } })
        await said.is('finished', 'error')
        const info = await said.info()
        expect(info.agent.acp_resume_session_id).not.toBe('session-1')
        expect(JSON.stringify([info, await said.events()])).not.toContain('"session-1"')
        // What is stored about a session is sealed.
        expect(typeof info.agent_state.acp_session_id).toBe('string')
        expect(readFileSync(server.dir.file('data', 'parley.db')).includes('"session-1"')).toBe(false)
      },
    )
  })

  test('what the agent replays while it loads a session becomes no event and no part of an answer', async () => {
    const replays = [
      { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'old words' } },
      { sessionUpdate: 'tool_call', toolCallId: 'old', title: 'old call', status: 'completed' },
      { sessionUpdate: 'usage_update', used: 1, size: 2, cost: { amount: 5, currency: 'USD' } },
    ]
    const acp = script(server.dir, {
      replays,
      turns: [[{ say: 'new' }, { usage: { used: 1, size: 2, cost: { amount: 5.5, currency: 'USD' } } }]],
    })
    const first = await begin(server, acp)
    await first.is('finished', 'error')
    const said = await begin(server, acp, 'hello', { agent: { acp_resume_session_id: 'session-1' } })
    await said.is('finished', 'error')
    const events = await said.events()
    expect(events.filter(({ kind }) => kind === 'ACPToolCallEvent')).toEqual([])
    expect(finishes(events)).toEqual(['new'])
    // What the session had cost before is not ours.
    expect((await said.info()).stats.usage_to_metrics['acp-managed'].accumulated_cost).toBeCloseTo(0.5, 10)
  }, 60_000)

  describe('a session that is lost', () => {
    test('is replaced by one that is told what was said and done', async () => {
      await using dir = await tempDir()
      const acp = script(dir, {
        capabilities: { loadSession: false },
        turns: [[call('a', { rawInput: { command: 'make' } }), { say: 'I made it.' }], [{ say: 'two' }]],
      })
      const dataDir = dir.file('data')
      const first = await startServerProcess({ dataDir })
      const said = await begin({ dir, call: first.call }, acp, 'make it')
      await said.is('finished', 'error')
      await first[Symbol.asyncDispose]()
      await using second = await startServerProcess({ dataDir })
      const again = conversation(second, said.id)
      await again.say('and now?')
      await until(async () => finishes(await again.events()).length === 2)
      const [text, message] = acp.prompts()[1]!
      expect(message).toBe('and now?')
      expect(text).toContain(MARK)
      expect(text).toMatch(/User: make it[\s\S]+Tool call: call a[\s\S]+make[\s\S]+Assistant: I made it\./)
      expect(text).not.toContain('and now?')
      expect((await again.kinds('SystemPromptEvent')).length).toBe(1)
    }, 90_000)

    test('a fork has a session of its own, and never that of its source', async () => {
      const acp = script(server.dir, { turns: [[{ say: 'one' }]] })
      const said = await begin(server, acp, 'first words')
      await said.is('finished', 'error')
      const { body } = await server.call('POST', `/api/conversations/${said.id}/fork`, {})
      const fork = conversation(server, body.id)
      await fork.say('in the fork')
      await until(async () => finishes(await fork.events()).length === 2)
      expect(acp.of('session/prompt').map(({ params }) => params.sessionId)).toEqual(['session-1', 'session-2'])
      expect(acp.of('session/load')).toEqual([])
      expect(acp.prompts()[1]![0]).toContain('User: first words')
      expect(acp.prompts()[1]).toHaveLength(2)
    }, 60_000)

    test('moving to an earlier point leaves what came after it behind, and asks nothing twice (F36)', async () => {
      const acp = script(server.dir, { turns: [[{ say: 'one' }], [{ say: 'two' }], [{ say: 'three' }]] })
      const said = await begin(server, acp, 'first')
      await said.is('finished', 'error')
      const leaf = (await said.info()).leaf_event_id
      await said.say('second')
      await until(async () => finishes(await said.events()).length === 2)
      await said.is('finished')
      await said.post('navigate', { event_id: leaf })
      await said.say('other second')
      await until(() => acp.prompts().length === 3)
      await said.is('finished')
      const sessions = acp.of('session/prompt').map(({ params }) => params.sessionId)
      expect(sessions).toEqual(['session-1', 'session-1', 'session-2'])
      const [text, message] = acp.prompts()[2]!
      expect(message).toBe('other second')
      expect(text).toContain('User: first')
      expect(text).not.toContain('User: second')
    }, 60_000)
  })

  describe('a death', () => {
    test('of the server in a prompt: nothing is lost, and the message is asked again with a warning, in the same session', async () => {
      await using dir = await tempDir()
      const acp = script(dir, { turns: [[call('a'), { hang: true }], [{ say: 'done' }]] })
      const dataDir = dir.file('data')
      const first = await startServerProcess({ dataDir })
      const said = await begin({ dir, call: first.call }, acp, 'do it')
      await until(async () => (await said.kinds('ACPToolCallEvent')).length === 1)
      const before = await said.events()
      await first.kill()
      const { pid } = acp.starts()[0]
      await using second = await startServerProcess({ dataDir })
      const again = conversation(second, said.id)
      await again.is('finished', 'error')
      await until(() => gone(pid))
      const after = await again.events()
      expect(after.slice(0, before.length).map(({ id }) => id)).toEqual(before.map(({ id }) => id))
      expect(finishes(after)).toEqual(['done'])
      expect(acp.of('session/load').map(({ params }) => params.sessionId)).toEqual(['session-1'])
      expect(acp.prompts()).toHaveLength(2)
      expect(acp.prompts()[1]![0]).toContain('an earlier attempt to answer this message was interrupted')
      expect(acp.prompts()[1]!.at(-1)).toBe('do it')
      // What it knew of the session it knows still.
      expect((await again.info()).agent_state.acp_agent_name).toBe('scripted')
    }, 90_000)

    for (const when of ['before', 'after'] as const) {
      test(`of the server ${when} the commit of the answer: the message is asked ${when === 'before' ? 'again, with a warning' : 'no second time'}`, async () => {
        await using dir = await tempDir()
        const acp = script(dir, { turns: [[{ say: 'done' }]] })
        const dataDir = dir.file('data')
        // The answer's observation comes with the commit that closes the turn.
        const first = await startServerProcess({ dataDir, crash: { at: 'ObservationEvent', when } })
        const id = '00000000-0000-4000-8000-00000000000a'
        await first
          .call('POST', '/api/conversations', {
            conversation_id: id,
            workspace: { working_dir: dir.file('work') },
            agent: acp.agent(),
            autotitle: false,
            initial_message: { content: [{ type: 'text', text: 'do it' }], run: true },
          })
          .catch(() => null)
        await first.exited
        await using second = await startServerProcess({ dataDir })
        const again = conversation(second, id)
        await again.is('finished', 'error')
        expect(finishes(await again.events())).toEqual(['done'])
        expect(acp.prompts()).toHaveLength(when === 'before' ? 2 : 1)
        if (when === 'before') expect(acp.prompts()[1]![0]).toContain('was interrupted')
      }, 90_000)
    }

    test('of the server while a person is asked: the action still waits, and the agent asks again', async () => {
      await using dir = await tempDir()
      const permission = { toolCallId: 'p', title: 'touch', kind: 'execute', rawInput: { command: 'touch x' } }
      const acp = script(dir, {
        turns: [
          [{ permission }, { say: 'first' }],
          [{ permission }, { say: 'done' }],
        ],
      })
      const dataDir = dir.file('data')
      const first = await startServerProcess({ dataDir })
      const said = await begin({ dir, call: first.call }, acp, 'do it', {
        confirmation_policy: { kind: 'AlwaysConfirm' },
      })
      await said.is('waiting_for_confirmation')
      await first.kill()
      await using second = await startServerProcess({ dataDir })
      const again = conversation(second, said.id)
      expect((await again.info()).execution_status).toBe('waiting_for_confirmation')
      await again.post('events/respond_to_confirmation', { accept: true })
      await until(() => acp.prompts().length === 2)
      await again.is('waiting_for_confirmation')
      await again.post('events/respond_to_confirmation', { accept: true })
      await again.is('finished')
      expect(finishes(await again.events())).toEqual(['done'])
      expect((await again.kinds('AgentErrorEvent')).length).toBe(1)
    }, 90_000)

    test('of the agent: its open calls have failed, the run says so, and the next one starts it again in the same session', async () => {
      const acp = script(server.dir, { turns: [[{ say: 'half' }, call('a'), { die: true }], [{ say: 'done' }]] })
      const said = await begin(server, acp, 'do it')
      await said.is('error', 'finished')
      const events = await said.events()
      expect(errors(events)).toEqual(['ACPPromptError'])
      expect(JSON.stringify(events)).toContain('ended by SIGKILL')
      expect(events.filter(({ kind }) => kind === 'ACPToolCallEvent').map(({ status }) => status)).toEqual([
        'pending',
        'failed',
      ])
      await said.post('run')
      await said.is('finished')
      expect(acp.starts()).toHaveLength(2)
      expect(acp.of('session/load')).toHaveLength(1)
      expect(acp.prompts()[1]![0]).toContain('was interrupted')
      expect(finishes(await said.events())).toEqual(['done'])
    }, 60_000)

    test('of the conversation ends the agent', async () => {
      const acp = script(server.dir, { turns: [[call('a'), { hang: true, deaf: true }]] })
      const said = await begin(server, acp, 'do it')
      await until(async () => (await said.kinds('ACPToolCallEvent')).length === 1)
      expect((await server.call('DELETE', `/api/conversations/${said.id}`)).status).toBe(200)
      await until(() => gone(acp.starts()[0].pid))
    }, 60_000)
  })

  describe('a question beside the conversation', () => {
    test('is asked of a copy of the session, which may do nothing', async () => {
      const permission = { toolCallId: 'q', title: 'rm', kind: 'execute', rawInput: { command: 'rm x' } }
      const acp = script(server.dir, {
        turns: [[{ say: 'one' }]],
        aside: [
          { permission },
          { say: 'it is ' },
          { say: 'blue' },
          { stop: 'end_turn', usage: { inputTokens: 3, outputTokens: 4 } },
        ],
        session: { modes: { currentModeId: 'default', availableModes: [{ id: 'default' }, { id: 'plan' }] } },
      })
      const said = await begin(server, acp)
      expect((await said.post('ask_agent', { question: 'too early?' })).status).toBeLessThan(500)
      await said.is('finished', 'error')
      const before = (await said.events()).length
      const { status, body } = await said.post('ask_agent', { question: 'which colour?' })
      expect([status, body.response]).toEqual([200, 'it is blue'])
      expect(acp.decided().at(-1).outcome).toEqual({ outcome: 'cancelled' })
      expect(acp.of('session/set_mode').at(-1).params).toEqual({ sessionId: 'copy-of-session-1', modeId: 'plan' })
      expect(acp.of('session/close').at(-1).params).toEqual({ sessionId: 'copy-of-session-1' })
      const after = await said.events()
      expect(after.slice(before).every(({ kind }) => kind === 'ConversationStateUpdateEvent')).toBe(true)
      expect((await said.info()).stats.usage_to_metrics['acp-managed'].accumulated_token_usage.completion_tokens).toBe(
        4,
      )
    }, 60_000)

    test('is refused by an agent that copies no session', async () => {
      const acp = script(server.dir, { capabilities: { sessionCapabilities: {} } })
      const said = await begin(server, acp)
      await said.is('finished', 'error')
      expect((await said.post('ask_agent', { question: 'why?' })).status).toBe(400)
    })
  })
})
