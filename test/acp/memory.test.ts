/** Resumed and lost ACP sessions. Source: agent-core.md 11.3 to 11.5, 11.10, 11.14; F36. */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startServerProcess } from '../../packages/server/testing/server-process.ts'
import { startTestServer, type TestServer } from '../../packages/server/testing/server.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { conversation as conversationOf } from '../../packages/server/testing/conversations.ts'
import { until } from '../../packages/server/testing/until.ts'
import { verifies } from '../verifies.ts'
import {
  startAcpConversation,
  errors,
  finishes,
  hasEnded,
  writeScript,
} from '../../packages/server/testing/acp-conversations.ts'

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

// Each test has its own conversation and mostly waits.
describe.concurrent('ACP sessions', () => {
  describe('acp_resume_session_id', () => {
    test('a new conversation resumes the session in acp_resume_session_id', async () => {
      const acp = writeScript(server.dir, { turns: [[{ say: 'one' }], [{ say: 'two' }]] })
      const before = await startAcpConversation(server, acp, 'hello')
      await before.is('finished', 'error')
      const named = await startAcpConversation(server, acp, 'again', {
        agent: { acp_resume_session_id: 'session-1' },
      })
      await named.is('finished', 'error')
      expect(acp.of('session/load').map(({ params }) => params.sessionId)).toEqual(['session-1'])
      expect(acp.of('session/prompt').map(({ params }) => params.sessionId)).toEqual(['session-1', 'session-1'])
    }, 60_000)

    verifies(
      'seed.agent.acp.acp_resume_session_id.fallback',
      'acp_resume_session_id of a lost session gives a new session, which is kept',
      async () => {
        await using dir = await tempDir()
        const acp = writeScript(dir, { turns: [[{ say: 'one' }], [{ say: 'two' }]] })
        const dataDir = dir.file('data')
        const first = await startServerProcess({ dataDir })
        const conversation = await startAcpConversation({ dir, call: first.call }, acp, 'hello', {
          agent: { acp_resume_session_id: 'long-gone-session' },
        })
        await conversation.is('finished', 'error')
        expect(acp.of('session/load').map(({ params }) => params.sessionId)).toEqual(['long-gone-session'])
        await first[Symbol.asyncDispose]()
        await using second = await startServerProcess({ dataDir })
        const again = conversationOf(second, conversation.id)
        await again.say('more')
        await until(async () => finishes(await again.events()).length === 2)
        expect(acp.of('session/load').map(({ params }) => params.sessionId)).toEqual(['long-gone-session', 'session-1'])
        expect(acp.prompts().at(-1)).toEqual(['more'])
      },
      90_000,
    )

    verifies(
      'seed.agent.acp.acp_resume_session_id.secret',
      'acp_resume_session_id appears neither in API responses nor in events nor in the store',
      async () => {
        await using server = await startTestServer()
        const acp = writeScript(server.dir, { turns: [[{ say: 'one' }]] })
        const other = await startAcpConversation(server, acp, 'make a session')
        await other.is('finished', 'error')
        const conversation = await startAcpConversation(server, acp, 'hello', {
          agent: { acp_resume_session_id: 'session-1' },
        })
        await conversation.is('finished', 'error')
        const info = await conversation.info()
        expect(info.agent.acp_resume_session_id).not.toBe('session-1')
        expect(JSON.stringify([info, await conversation.events()])).not.toContain('"session-1"')
        // The stored session id is encrypted.
        expect(typeof info.agent_state.acp_session_id).toBe('string')
        expect(readFileSync(server.dir.file('data', 'parley.db')).includes('"session-1"')).toBe(false)
      },
    )
  })

  test('updates that an ACP agent replays while it loads a session become neither events nor part of an answer', async () => {
    const replays = [
      { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'old words' } },
      { sessionUpdate: 'tool_call', toolCallId: 'old', title: 'old call', status: 'completed' },
      { sessionUpdate: 'usage_update', used: 1, size: 2, cost: { amount: 5, currency: 'USD' } },
    ]
    const acp = writeScript(server.dir, {
      replays,
      turns: [[{ say: 'new' }, { usage: { used: 1, size: 2, cost: { amount: 5.5, currency: 'USD' } } }]],
    })
    const first = await startAcpConversation(server, acp)
    await first.is('finished', 'error')
    const conversation = await startAcpConversation(server, acp, 'hello', {
      agent: { acp_resume_session_id: 'session-1' },
    })
    await conversation.is('finished', 'error')
    const events = await conversation.events()
    expect(events.filter(({ kind }) => kind === 'ACPToolCallEvent')).toEqual([])
    expect(finishes(events)).toEqual(['new'])
    // The earlier cost of the session does not count for this conversation.
    expect((await conversation.info()).stats.usage_to_metrics['acp-managed'].accumulated_cost).toBeCloseTo(0.5, 10)
  }, 60_000)

  describe('lost sessions', () => {
    test('a lost session is replaced by one that gets a transcript', async () => {
      await using dir = await tempDir()
      const acp = writeScript(dir, {
        capabilities: { loadSession: false },
        turns: [[call('a', { rawInput: { command: 'make' } }), { say: 'I made it.' }], [{ say: 'two' }]],
      })
      const dataDir = dir.file('data')
      const first = await startServerProcess({ dataDir })
      const conversation = await startAcpConversation({ dir, call: first.call }, acp, 'make it')
      await conversation.is('finished', 'error')
      await first[Symbol.asyncDispose]()
      await using second = await startServerProcess({ dataDir })
      const again = conversationOf(second, conversation.id)
      await again.say('and now?')
      await until(async () => finishes(await again.events()).length === 2)
      const [text, message] = acp.prompts()[1]!
      expect(message).toBe('and now?')
      expect(text).toContain(MARK)
      expect(text).toMatch(/User: make it[\s\S]+Tool call: call a[\s\S]+make[\s\S]+Assistant: I made it\./)
      expect(text).not.toContain('and now?')
      expect((await again.kinds('SystemPromptEvent')).length).toBe(1)
    }, 90_000)

    test('a fork gets its own session, never that of its source', async () => {
      const acp = writeScript(server.dir, { turns: [[{ say: 'one' }]] })
      const conversation = await startAcpConversation(server, acp, 'first words')
      await conversation.is('finished', 'error')
      const { body } = await server.call('POST', `/api/conversations/${conversation.id}/fork`, {})
      const fork = conversationOf(server, body.id)
      await fork.say('in the fork')
      await until(async () => finishes(await fork.events()).length === 2)
      expect(acp.of('session/prompt').map(({ params }) => params.sessionId)).toEqual(['session-1', 'session-2'])
      expect(acp.of('session/load')).toEqual([])
      expect(acp.prompts()[1]![0]).toContain('User: first words')
      expect(acp.prompts()[1]).toHaveLength(2)
    }, 60_000)

    test('after a rewind the ACP agent gets a session without the later events and no message twice (F36)', async () => {
      const acp = writeScript(server.dir, { turns: [[{ say: 'one' }], [{ say: 'two' }], [{ say: 'three' }]] })
      const conversation = await startAcpConversation(server, acp, 'first')
      await conversation.is('finished', 'error')
      const leaf = (await conversation.info()).leaf_event_id
      await conversation.say('second')
      await until(async () => finishes(await conversation.events()).length === 2)
      await conversation.is('finished')
      await conversation.post('navigate', { event_id: leaf })
      await conversation.say('other second')
      await until(() => acp.prompts().length === 3)
      await conversation.is('finished')
      const sessions = acp.of('session/prompt').map(({ params }) => params.sessionId)
      expect(sessions).toEqual(['session-1', 'session-1', 'session-2'])
      const [text, message] = acp.prompts()[2]!
      expect(message).toBe('other second')
      expect(text).toContain('User: first')
      expect(text).not.toContain('User: second')
    }, 60_000)
  })

  describe('ends of processes', () => {
    test('after a kill of the server during a prompt the message is sent again with a warning in the same session', async () => {
      await using dir = await tempDir()
      const acp = writeScript(dir, { turns: [[call('a'), { hang: true }], [{ say: 'done' }]] })
      const dataDir = dir.file('data')
      const first = await startServerProcess({ dataDir })
      const conversation = await startAcpConversation({ dir, call: first.call }, acp, 'do it')
      await until(async () => (await conversation.kinds('ACPToolCallEvent')).length === 1)
      const before = await conversation.events()
      await first.kill()
      const { pid } = acp.starts()[0]
      await using second = await startServerProcess({ dataDir })
      const again = conversationOf(second, conversation.id)
      await again.is('finished', 'error')
      await until(() => hasEnded(pid))
      const after = await again.events()
      expect(after.slice(0, before.length).map(({ id }) => id)).toEqual(before.map(({ id }) => id))
      expect(finishes(after)).toEqual(['done'])
      expect(acp.of('session/load').map(({ params }) => params.sessionId)).toEqual(['session-1'])
      expect(acp.prompts()).toHaveLength(2)
      expect(acp.prompts()[1]![0]).toContain('an earlier attempt to answer this message was interrupted')
      expect(acp.prompts()[1]!.at(-1)).toBe('do it')
      // The facts about the session are still known.
      expect((await again.info()).agent_state.acp_agent_name).toBe('scripted')
    }, 90_000)

    for (const when of ['before', 'after'] as const) {
      test(`after a kill of the server ${when} the commit of the answer the message is ${when === 'before' ? 'sent again with a warning' : 'not sent again'}`, async () => {
        await using dir = await tempDir()
        const acp = writeScript(dir, { turns: [[{ say: 'done' }]] })
        const dataDir = dir.file('data')
        // The commit that closes the turn contains the observation of the answer.
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
        const again = conversationOf(second, id)
        await again.is('finished', 'error')
        expect(finishes(await again.events())).toEqual(['done'])
        expect(acp.prompts()).toHaveLength(when === 'before' ? 2 : 1)
        if (when === 'before') expect(acp.prompts()[1]![0]).toContain('was interrupted')
      }, 90_000)
    }

    test('after a kill of the server during an approval the action still waits, and the agent asks again', async () => {
      await using dir = await tempDir()
      const permission = { toolCallId: 'p', title: 'touch', kind: 'execute', rawInput: { command: 'touch x' } }
      const acp = writeScript(dir, {
        turns: [
          [{ permission }, { say: 'first' }],
          [{ permission }, { say: 'done' }],
        ],
      })
      const dataDir = dir.file('data')
      const first = await startServerProcess({ dataDir })
      const conversation = await startAcpConversation({ dir, call: first.call }, acp, 'do it', {
        confirmation_policy: { kind: 'AlwaysConfirm' },
      })
      await conversation.is('waiting_for_confirmation')
      await first.kill()
      await using second = await startServerProcess({ dataDir })
      const again = conversationOf(second, conversation.id)
      expect((await again.info()).execution_status).toBe('waiting_for_confirmation')
      await again.post('events/respond_to_confirmation', { accept: true })
      await until(() => acp.prompts().length === 2)
      await again.is('waiting_for_confirmation')
      await again.post('events/respond_to_confirmation', { accept: true })
      await again.is('finished')
      expect(finishes(await again.events())).toEqual(['done'])
      expect((await again.kinds('AgentErrorEvent')).length).toBe(1)
    }, 90_000)

    test('after the end of the agent process its open calls fail with the run, and the next run restarts the same session', async () => {
      const acp = writeScript(server.dir, { turns: [[{ say: 'half' }, call('a'), { die: true }], [{ say: 'done' }]] })
      const conversation = await startAcpConversation(server, acp, 'do it')
      await conversation.is('error', 'finished')
      const events = await conversation.events()
      expect(errors(events)).toEqual(['ACPPromptError'])
      expect(JSON.stringify(events)).toContain('ended by SIGKILL')
      expect(events.filter(({ kind }) => kind === 'ACPToolCallEvent').map(({ status }) => status)).toEqual([
        'pending',
        'failed',
      ])
      await conversation.post('run')
      await conversation.is('finished')
      expect(acp.starts()).toHaveLength(2)
      expect(acp.of('session/load')).toHaveLength(1)
      expect(acp.prompts()[1]![0]).toContain('was interrupted')
      expect(finishes(await conversation.events())).toEqual(['done'])
    }, 60_000)

    test('the deletion of a conversation ends its agent process', async () => {
      const acp = writeScript(server.dir, { turns: [[call('a'), { hang: true, deaf: true }]] })
      const conversation = await startAcpConversation(server, acp, 'do it')
      await until(async () => (await conversation.kinds('ACPToolCallEvent')).length === 1)
      expect((await server.call('DELETE', `/api/conversations/${conversation.id}`)).status).toBe(200)
      await until(() => hasEnded(acp.starts()[0].pid))
    }, 60_000)
  })

  describe('a question beside the conversation', () => {
    test('a side question goes to a fork of the session without permissions', async () => {
      const permission = { toolCallId: 'q', title: 'rm', kind: 'execute', rawInput: { command: 'rm x' } }
      const acp = writeScript(server.dir, {
        turns: [[{ say: 'one' }]],
        aside: [
          { permission },
          { say: 'it is ' },
          { say: 'blue' },
          { stop: 'end_turn', usage: { inputTokens: 3, outputTokens: 4 } },
        ],
        session: { modes: { currentModeId: 'default', availableModes: [{ id: 'default' }, { id: 'plan' }] } },
      })
      const conversation = await startAcpConversation(server, acp)
      expect((await conversation.post('ask_agent', { question: 'too early?' })).status).toBeLessThan(500)
      await conversation.is('finished', 'error')
      const before = (await conversation.events()).length
      const { status, body } = await conversation.post('ask_agent', { question: 'which colour?' })
      expect([status, body.response]).toEqual([200, 'it is blue'])
      expect(acp.decided().at(-1).outcome).toEqual({ outcome: 'cancelled' })
      expect(acp.of('session/set_mode').at(-1).params).toEqual({ sessionId: 'copy-of-session-1', modeId: 'plan' })
      expect(acp.of('session/close').at(-1).params).toEqual({ sessionId: 'copy-of-session-1' })
      const after = await conversation.events()
      expect(after.slice(before).every(({ kind }) => kind === 'ConversationStateUpdateEvent')).toBe(true)
      expect(
        (await conversation.info()).stats.usage_to_metrics['acp-managed'].accumulated_token_usage.completion_tokens,
      ).toBe(4)
    }, 60_000)

    test('a side question is refused for an agent that cannot fork a session', async () => {
      const acp = writeScript(server.dir, { capabilities: { sessionCapabilities: {} } })
      const conversation = await startAcpConversation(server, acp)
      await conversation.is('finished', 'error')
      expect((await conversation.post('ask_agent', { question: 'why?' })).status).toBe(400)
    })
  })
})
