/** Updates, end and cost of a prompt. Source: agent-core.md 11.5, 11.6, 11.8, 11.11. */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bmpOf, dataUrl, jpegOf } from '../../packages/server/testing/images.ts'
import { startTestServer, type TestServer } from '../../packages/server/testing/server.ts'
import { until } from '../../packages/server/testing/until.ts'
import { verifies } from '../verifies.ts'
import { startAcpConversation, errors, finishes, writeScript } from '../../packages/server/testing/acp-conversations.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server[Symbol.asyncDispose]())

const begun = (id: string, members: object = {}) => ({
  update: {
    sessionUpdate: 'tool_call',
    toolCallId: id,
    title: `call ${id}`,
    kind: 'execute',
    status: 'pending',
    ...members,
  },
})
const news = (id: string, members: object) => ({
  update: { sessionUpdate: 'tool_call_update', toolCallId: id, ...members },
})
const calls = (events: any[]) =>
  events
    .filter(({ kind }) => kind === 'ACPToolCallEvent')
    .map(({ tool_call_id, status, is_error }) => [tool_call_id, status, is_error])

// Each test has its own conversation and mostly waits.
describe.concurrent('turns of an ACP agent', () => {
  test('each ACP call is stored at its start and its end, or once when it starts ended, and reasoning is stored with the answer', async () => {
    const acp = writeScript(server.dir, {
      turns: [
        [
          { think: 'let me ' },
          { think: 'see' },
          begun('a', { rawInput: { command: 'ls' } }),
          news('a', { status: 'in_progress' }),
          news('a', {
            status: 'completed',
            rawOutput: 'x'.repeat(50_000),
            content: [{ type: 'content', content: { type: 'text', text: 'ok' } }],
          }),
          news('a', { status: 'completed' }),
          begun('b', { status: 'failed' }),
          begun('c'),
          { update: { sessionUpdate: 'plan', entries: [] } },
          { noise: 'a banner that is no message' },
          { noise: '{"jsonrpc": half' },
          { say: 'done' },
        ],
      ],
    })
    const conversation = await startAcpConversation(server, acp)
    await conversation.is('finished', 'error')
    const events = await conversation.events()
    expect(calls(events)).toEqual([
      ['a', 'pending', false],
      ['a', 'completed', false],
      ['b', 'failed', true],
      ['c', 'pending', false],
      ['c', 'completed', false],
    ])
    const [, ended] = events.filter(({ kind }: any) => kind === 'ACPToolCallEvent')
    expect(ended).toMatchObject({
      source: 'agent',
      title: 'call a',
      tool_kind: 'execute',
      raw_input: { command: 'ls' },
    })
    expect(ended.raw_output.length).toBeLessThan(31_000)
    const finish = events.find(({ action }: any) => action?.kind === 'FinishAction')
    expect(finish).toMatchObject({ reasoning_content: 'let me see', action: { message: 'done' } })
    expect(events.filter(({ kind }: any) => kind === 'SystemPromptEvent')).toHaveLength(1)
  })

  test('each message is sent to an ACP agent once and in order, also during another prompt (P51)', async () => {
    const go = server.dir.file('go')
    const acp = writeScript(server.dir, {
      turns: [[{ until: go }, { say: 'one' }], [{ say: 'two' }], [{ say: 'three' }], [{ say: 'four' }]],
    })
    const conversation = await startAcpConversation(server, acp, 'first')
    await until(() => acp.prompts().length === 1)
    await conversation.say('second', false)
    await conversation.say('third', false)
    writeFileSync(go, '')
    await until(async () => finishes(await conversation.events()).length === 3)
    await conversation.is('finished')
    await conversation.say('fourth')
    await until(async () => finishes(await conversation.events()).length === 4)
    expect(acp.prompts()).toEqual([['first'], ['second'], ['third'], ['fourth']])
    expect(finishes(await conversation.events())).toEqual(['one', 'two', 'three', 'four'])
    expect(acp.starts()).toHaveLength(1)
  }, 60_000)

  test('a message with a run request supersedes the current ACP prompt', async () => {
    const acp = writeScript(server.dir, {
      turns: [[{ say: 'working' }, begun('a'), { hang: true }], [{ say: 'the newer one' }]],
    })
    const conversation = await startAcpConversation(server, acp, 'first')
    await until(async () => calls(await conversation.events()).length === 1)
    await conversation.say('no, this instead')
    await until(async () => finishes(await conversation.events()).length === 1)
    await conversation.is('finished')
    expect(acp.prompts()).toEqual([['first'], ['no, this instead']])
    const events = await conversation.events()
    expect(calls(events)).toEqual([
      ['a', 'pending', false],
      ['a', 'failed', true],
    ])
    const partial = events.find(({ kind, source }: any) => kind === 'MessageEvent' && source === 'agent')
    expect(partial.llm_message.content[0].text).toBe('working\n\n[Stopped here for a newer message.]')
  }, 60_000)

  test('images and texts of a message reach an ACP agent in a form that it supports', async () => {
    const acp = writeScript(server.dir, { capabilities: { promptCapabilities: { image: true } } })
    const conversation = await startAcpConversation(server, acp, null)
    const jpeg = jpegOf({ width: 4, height: 4 })
    const content = [
      { type: 'text', text: 'look' },
      { type: 'image', image_urls: [dataUrl('image/png', jpeg), 'https://example.org/x.png'] },
      { type: 'image', image_urls: [dataUrl('image/png', bmpOf({ width: 4, height: 4 }))] },
    ]
    await server.call('POST', `/api/conversations/${conversation.id}/events`, { content, run: true })
    await conversation.is('finished', 'error')
    expect(acp.of('session/prompt')[0].params.prompt).toEqual([
      { type: 'text', text: 'look' },
      { type: 'image', mimeType: 'image/jpeg', data: jpeg.toString('base64') },
      { type: 'resource_link', uri: 'https://example.org/x.png', name: 'image 2' },
      {
        type: 'text',
        text: expect.stringMatching(/^\[An image was left out: it is a BMP image, which models cannot see/),
      },
    ])
    const events = await conversation.events()
    expect(events.filter(({ kind }: any) => kind === 'ConversationErrorEvent')).toMatchObject([
      {
        code: 'LLMPartLeftOut',
        detail: expect.stringMatching(/^An image is not sent to the agent: It is a BMP image/),
      },
    ])
  })

  describe('the end of a prompt', () => {
    test('an interrupt cancels the ACP prompt, fails its open calls and keeps its text, and the message is sent again with a warning', async () => {
      const acp = writeScript(server.dir, {
        turns: [[{ say: 'half' }, begun('a'), { hang: true }], [{ say: 'whole' }]],
      })
      const conversation = await startAcpConversation(server, acp, 'do it')
      await until(async () => calls(await conversation.events()).length === 1)
      await conversation.post('interrupt')
      await conversation.is('paused')
      expect(acp.of('session/cancel')).toHaveLength(1)
      const events = await conversation.events()
      expect(calls(events)).toEqual([
        ['a', 'pending', false],
        ['a', 'failed', true],
      ])
      expect(JSON.stringify(events)).toContain('half\\n\\n[Interrupted here.]')
      await conversation.post('run')
      await conversation.is('finished', 'error')
      expect(acp.prompts()[1]![0]).toContain('an earlier attempt to answer this message was interrupted')
      expect(acp.prompts()[1]![1]).toBe('do it')
      expect(finishes(await conversation.events())).toEqual(['whole'])
      expect(acp.starts()).toHaveLength(1)
    }, 60_000)

    test('an ACP agent that ignores a cancellation is restarted in the same session', async () => {
      const acp = writeScript(server.dir, { turns: [[begun('a'), { hang: true, deaf: true }], [{ say: 'whole' }]] })
      const conversation = await startAcpConversation(server, acp, 'do it')
      await until(async () => calls(await conversation.events()).length === 1)
      await conversation.post('interrupt')
      await conversation.is('paused')
      await conversation.post('run')
      await conversation.is('finished', 'error')
      expect(acp.starts()).toHaveLength(2)
      expect(acp.of('session/load').map(({ params }) => params.sessionId)).toEqual(['session-1'])
      expect(finishes(await conversation.events())).toEqual(['whole'])
    }, 60_000)

    verifies(
      ['seed.agent.acp.acp_prompt_timeout.inactivity', 'seed.limits.acp_prompt_timeout'],
      'acp_prompt_timeout without an update ends a prompt, and each update restarts the timer',
      async () => {
        const busy = Array.from({ length: 8 }, () => [
          { sleep: 400 },
          { update: { sessionUpdate: 'plan', entries: [] } },
        ]).flat()
        const acp = writeScript(server.dir, {
          turns: [[...busy, { say: 'in time' }], [{ say: 'half' }, begun('a'), { hang: true }], [{ say: 'again' }]],
        })
        const conversation = await startAcpConversation(server, acp, 'first', { agent: { acp_prompt_timeout: 2 } })
        await conversation.is('finished', 'error')
        expect(finishes(await conversation.events())).toEqual(['in time'])
        await conversation.say('second')
        await conversation.is('error')
        const events = await conversation.events()
        expect(errors(events)).toEqual(['ACPPromptTimeout'])
        expect(calls(events).at(-1)).toEqual(['a', 'failed', true])
        expect(JSON.stringify(events)).toContain('half\\n\\n[The agent was silent for 2 s (acp_prompt_timeout)')
        await conversation.post('run')
        await conversation.is('finished')
        expect(acp.prompts()[2]).toHaveLength(2)
        const { body } = await server.call('POST', '/api/conversations', {
          workspace: { working_dir: server.dir.file('other') },
          agent: { kind: 'ACPAgent', acp_command: ['x'] },
        })
        expect(body.agent.acp_prompt_timeout).toBe(1800)
      },
      90_000,
    )

    test.each([
      [{ code: -32001, message: 'no', data: { details: 'bad tea' } }, 'ACPPromptError', 'no: bad tea'],
      [{ code: -32000, message: 'Authentication required' }, 'ACPAuthRequired', 'Authentication required'],
      [{ code: -32001, message: 'This violates our usage policy' }, 'UsagePolicyRefusal', 'usage policy'],
    ])('a prompt error %o of an ACP agent ends the run', async (fail, code, detail) => {
      const acp = writeScript(server.dir, { turns: [[{ say: 'half' }, begun('a'), { fail }]] })
      const conversation = await startAcpConversation(server, acp)
      await conversation.is('error', 'finished')
      const events = await conversation.events()
      const failure = events.find(({ kind }: any) => kind === 'ConversationErrorEvent')
      expect(failure).toMatchObject({ source: 'agent', code })
      expect(failure.detail).toContain(detail)
      expect(errors(events)).toHaveLength(1)
      expect(calls(events).at(-1)).toEqual(['a', 'failed', true])
      expect(JSON.stringify(events)).toContain('half\\n\\n[ACP error: ')
      expect(acp.prompts()).toHaveLength(1)
    })

    test('a refusal by the usage policy ends the run with an error', async () => {
      const acp = writeScript(server.dir, { turns: [[{ stop: 'refusal' }]] })
      const conversation = await startAcpConversation(server, acp)
      await conversation.is('error', 'finished')
      expect(errors(await conversation.events())).toEqual(['UsagePolicyRefusal'])
    })

    test('an ACP prompt that fails internally before any call is retried', async () => {
      const acp = writeScript(server.dir, {
        turns: [[{ fail: { code: -32603, message: 'Internal error' } }], [{ say: 'better' }]],
      })
      const conversation = await startAcpConversation(server, acp)
      await conversation.is('error', 'finished')
      expect(finishes(await conversation.events())).toEqual(['better'])
      expect(acp.prompts()).toHaveLength(2)
    }, 60_000)

    test('an ACP prompt that fails after a call is not retried', async () => {
      const acp = writeScript(server.dir, {
        turns: [[begun('a'), { fail: { code: -32603, message: 'Internal error' } }]],
      })
      const conversation = await startAcpConversation(server, acp)
      await conversation.is('error', 'finished')
      expect(errors(await conversation.events())).toEqual(['ACPPromptError'])
      expect(acp.prompts()).toHaveLength(1)
    })
  })

  describe('cost', () => {
    test('the cost of an ACP session is summed by differences, and tokens use one convention', async () => {
      const cost = (amount: number) => ({ usage: { used: 10, size: 200_000, cost: { amount, currency: 'USD' } } })
      const usage = { inputTokens: 100, outputTokens: 20, cachedReadTokens: 50, cachedWriteTokens: 5, thoughtTokens: 7 }
      const acp = writeScript(server.dir, {
        turns: [
          [cost(0.1), cost(0.25), { say: 'a' }, { stop: 'end_turn', usage }],
          [
            cost(0.4),
            { say: 'b' },
            { stop: 'end_turn', meta: { quota: { token_count: { input_tokens: 10, output_tokens: 1 } } } },
          ],
        ],
      })
      const conversation = await startAcpConversation(server, acp)
      await conversation.is('finished')
      await conversation.say('more')
      await until(async () => finishes(await conversation.events()).length === 2)
      await conversation.is('finished')
      const { stats } = await conversation.info()
      const { accumulated_cost, accumulated_token_usage: tokens, costs } = stats.usage_to_metrics['acp-managed']
      expect(accumulated_cost).toBeCloseTo(0.4, 10)
      expect(costs.map(({ cost: each }: any) => each)).toEqual([0.25, expect.closeTo(0.15, 10)])
      expect(tokens).toMatchObject({
        prompt_tokens: 165,
        completion_tokens: 21,
        cache_read_tokens: 50,
        cache_write_tokens: 5,
        reasoning_tokens: 7,
        context_window: 200_000,
      })
    })

    test('an ACP prompt that exceeds the budget is cancelled and the conversation pauses', async () => {
      const cost = (amount: number) => ({ usage: { used: 1, size: 10, cost: { amount, currency: 'USD' } } })
      const acp = writeScript(server.dir, {
        turns: [[cost(0.5), { say: 'half' }, begun('a'), cost(1.5), { hang: true }]],
      })
      const conversation = await startAcpConversation(server, acp, 'go', { max_budget_per_task: 1 })
      await conversation.is('paused', 'error', 'finished')
      expect((await conversation.info()).execution_status).toBe('paused')
      const events = await conversation.events()
      expect(errors(events)).toEqual(['MaxBudgetReached'])
      expect(acp.of('session/cancel')).toHaveLength(1)
      expect(JSON.stringify(events)).toContain('half\\n\\n[Stopped here: the budget is used up.]')
      expect((await conversation.info()).stats.usage_to_metrics['acp-managed'].accumulated_cost).toBeCloseTo(1.5, 10)
    })
  })

  test('an ACP agent that repeats the same call is stopped (F70)', async () => {
    const again = (n: number) => [
      begun(`c${n}`, { rawInput: { command: 'ls' } }),
      news(`c${n}`, { status: 'completed', rawOutput: 'files' }),
    ]
    const acp = writeScript(server.dir, {
      turns: [[...again(1), ...again(2), ...again(3), ...again(4), { hang: true }]],
    })
    const conversation = await startAcpConversation(server, acp)
    await conversation.is('stuck', 'finished', 'error')
    expect((await conversation.info()).execution_status).toBe('stuck')
    expect(errors(await conversation.events())).toEqual(['AgentStuck'])
    expect(acp.of('session/cancel')).toHaveLength(1)
  })

  test('a critic assesses the end of an ACP turn and requests another turn', async () => {
    // A working copy without changes counts as no result.
    const working_dir = server.dir.file('copy')
    execFileSync('git', ['init', '-q', working_dir])
    const acp = writeScript(server.dir, { turns: [[{ say: 'nothing done' }], [{ say: 'still nothing' }]] })
    const critic = {
      kind: 'AgentFinishedCritic',
      mode: 'finish_and_message',
      iterative_refinement: { success_threshold: 0.9, max_iterations: 2 },
    }
    const conversation = await startAcpConversation(server, acp, 'go', {
      agent: { critic },
      workspace: { working_dir },
    })
    await conversation.is('finished', 'error', 'stuck')
    const finish = (await conversation.events()).find(({ action }: any) => action?.kind === 'FinishAction')
    expect(finish.critic_result).toMatchObject({ score: expect.any(Number) })
    expect(acp.prompts()).toHaveLength(3)
    expect(acp.prompts()[1]![0]).not.toBe('go')
  })
})
