/** What becomes of a prompt: its updates, its end, its cost. Source: agent-core.md 11.5, 11.6, 11.8, 11.11. */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../../packages/server/testing/server.ts'
import { until } from '../crash/watching.ts'
import { verifies } from '../verifies.ts'
import { begin, errors, finishes, script } from './acting.ts'

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

// Each in a conversation of its own; most of their time is waiting.
describe.concurrent('a prompt', () => {
  test('each call is told when it begins and when it ends, and once when it begins ended; thoughts go with the answer', async () => {
    const acp = script(server.dir, {
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
    const said = await begin(server, acp)
    await said.is('finished', 'error')
    const events = await said.events()
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

  test('each message is asked once and in order, also one that comes while another is being answered (P51)', async () => {
    const go = server.dir.file('go')
    const acp = script(server.dir, {
      turns: [[{ until: go }, { say: 'one' }], [{ say: 'two' }], [{ say: 'three' }], [{ say: 'four' }]],
    })
    const said = await begin(server, acp, 'first')
    await until(() => acp.prompts().length === 1)
    await said.say('second', false)
    await said.say('third', false)
    writeFileSync(go, '')
    await until(async () => finishes(await said.events()).length === 3)
    await said.is('finished')
    await said.say('fourth')
    await until(async () => finishes(await said.events()).length === 4)
    expect(acp.prompts()).toEqual([['first'], ['second'], ['third'], ['fourth']])
    expect(finishes(await said.events())).toEqual(['one', 'two', 'three', 'four'])
    expect(acp.starts()).toHaveLength(1)
  }, 60_000)

  test('a message that asks for a run takes the place of the one that is being answered', async () => {
    const acp = script(server.dir, {
      turns: [[{ say: 'working' }, begun('a'), { hang: true }], [{ say: 'the newer one' }]],
    })
    const said = await begin(server, acp, 'first')
    await until(async () => calls(await said.events()).length === 1)
    await said.say('no, this instead')
    await until(async () => finishes(await said.events()).length === 1)
    await said.is('finished')
    expect(acp.prompts()).toEqual([['first'], ['no, this instead']])
    const events = await said.events()
    expect(calls(events)).toEqual([
      ['a', 'pending', false],
      ['a', 'failed', true],
    ])
    const partial = events.find(({ kind, source }: any) => kind === 'MessageEvent' && source === 'agent')
    expect(partial.llm_message.content[0].text).toBe('working\n\n[Stopped here for a newer message.]')
  }, 60_000)

  test('images and the texts of a message reach the agent as it can take them', async () => {
    const acp = script(server.dir, { capabilities: { promptCapabilities: { image: true } } })
    const said = await begin(server, acp, null)
    const content = [
      { type: 'text', text: 'look' },
      { type: 'image', image_urls: ['data:image/png;base64,AAAA', 'https://example.org/x.png'] },
    ]
    await server.call('POST', `/api/conversations/${said.id}/events`, { content, run: true })
    await said.is('finished', 'error')
    expect(acp.of('session/prompt')[0].params.prompt).toEqual([
      { type: 'text', text: 'look' },
      { type: 'image', mimeType: 'image/png', data: 'AAAA' },
      { type: 'resource_link', uri: 'https://example.org/x.png', name: 'image 2' },
    ])
  })

  describe('the end of a prompt', () => {
    test('an interrupt tells the agent, closes its open calls and keeps what it said; the message is asked again with a warning', async () => {
      const acp = script(server.dir, { turns: [[{ say: 'half' }, begun('a'), { hang: true }], [{ say: 'whole' }]] })
      const said = await begin(server, acp, 'do it')
      await until(async () => calls(await said.events()).length === 1)
      await said.post('interrupt')
      await said.is('paused')
      expect(acp.of('session/cancel')).toHaveLength(1)
      const events = await said.events()
      expect(calls(events)).toEqual([
        ['a', 'pending', false],
        ['a', 'failed', true],
      ])
      expect(JSON.stringify(events)).toContain('half\\n\\n[Interrupted here.]')
      await said.post('run')
      await said.is('finished', 'error')
      expect(acp.prompts()[1]![0]).toContain('an earlier attempt to answer this message was interrupted')
      expect(acp.prompts()[1]![1]).toBe('do it')
      expect(finishes(await said.events())).toEqual(['whole'])
      expect(acp.starts()).toHaveLength(1)
    }, 60_000)

    test('an agent that does not stop when it is told is started anew, in the same session', async () => {
      const acp = script(server.dir, { turns: [[begun('a'), { hang: true, deaf: true }], [{ say: 'whole' }]] })
      const said = await begin(server, acp, 'do it')
      await until(async () => calls(await said.events()).length === 1)
      await said.post('interrupt')
      await said.is('paused')
      await said.post('run')
      await said.is('finished', 'error')
      expect(acp.starts()).toHaveLength(2)
      expect(acp.of('session/load').map(({ params }) => params.sessionId)).toEqual(['session-1'])
      expect(finishes(await said.events())).toEqual(['whole'])
    }, 60_000)

    verifies(
      ['seed.agent.acp.acp_prompt_timeout.inactivity', 'seed.limits.acp_prompt_timeout'],
      'silence ends a prompt, and every update starts the count again',
      async () => {
        const busy = Array.from({ length: 8 }, () => [
          { sleep: 400 },
          { update: { sessionUpdate: 'plan', entries: [] } },
        ]).flat()
        const acp = script(server.dir, {
          turns: [[...busy, { say: 'in time' }], [{ say: 'half' }, begun('a'), { hang: true }], [{ say: 'again' }]],
        })
        const said = await begin(server, acp, 'first', { agent: { acp_prompt_timeout: 2 } })
        await said.is('finished', 'error')
        expect(finishes(await said.events())).toEqual(['in time'])
        await said.say('second')
        await said.is('error')
        const events = await said.events()
        expect(errors(events)).toEqual(['ACPPromptTimeout'])
        expect(calls(events).at(-1)).toEqual(['a', 'failed', true])
        expect(JSON.stringify(events)).toContain('half\\n\\n[The agent was silent for 2 s (acp_prompt_timeout)')
        await said.post('run')
        await said.is('finished')
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
    ])('an error of the agent ends the run: %o', async (fail, code, detail) => {
      const acp = script(server.dir, { turns: [[{ say: 'half' }, begun('a'), { fail }]] })
      const said = await begin(server, acp)
      await said.is('error', 'finished')
      const events = await said.events()
      const failure = events.find(({ kind }: any) => kind === 'ConversationErrorEvent')
      expect(failure).toMatchObject({ source: 'agent', code })
      expect(failure.detail).toContain(detail)
      expect(errors(events)).toHaveLength(1)
      expect(calls(events).at(-1)).toEqual(['a', 'failed', true])
      expect(JSON.stringify(events)).toContain('half\\n\\n[ACP error: ')
      expect(acp.prompts()).toHaveLength(1)
    })

    test('a refusal is no answer', async () => {
      const acp = script(server.dir, { turns: [[{ stop: 'refusal' }]] })
      const said = await begin(server, acp)
      await said.is('error', 'finished')
      expect(errors(await said.events())).toEqual(['UsagePolicyRefusal'])
    })

    test('an agent that fails inside before it did anything is asked again', async () => {
      const acp = script(server.dir, {
        turns: [[{ fail: { code: -32603, message: 'Internal error' } }], [{ say: 'better' }]],
      })
      const said = await begin(server, acp)
      await said.is('error', 'finished')
      expect(finishes(await said.events())).toEqual(['better'])
      expect(acp.prompts()).toHaveLength(2)
    }, 60_000)

    test('after a call has begun it is not asked again by itself', async () => {
      const acp = script(server.dir, { turns: [[begun('a'), { fail: { code: -32603, message: 'Internal error' } }]] })
      const said = await begin(server, acp)
      await said.is('error', 'finished')
      expect(errors(await said.events())).toEqual(['ACPPromptError'])
      expect(acp.prompts()).toHaveLength(1)
    })
  })

  describe('cost', () => {
    test('the cost of the session is added up by its differences, tokens in one convention', async () => {
      const cost = (amount: number) => ({ usage: { used: 10, size: 200_000, cost: { amount, currency: 'USD' } } })
      const usage = { inputTokens: 100, outputTokens: 20, cachedReadTokens: 50, cachedWriteTokens: 5, thoughtTokens: 7 }
      const acp = script(server.dir, {
        turns: [
          [cost(0.1), cost(0.25), { say: 'a' }, { stop: 'end_turn', usage }],
          [
            cost(0.4),
            { say: 'b' },
            { stop: 'end_turn', meta: { quota: { token_count: { input_tokens: 10, output_tokens: 1 } } } },
          ],
        ],
      })
      const said = await begin(server, acp)
      await said.is('finished')
      await said.say('more')
      await until(async () => finishes(await said.events()).length === 2)
      await said.is('finished')
      const { stats } = await said.info()
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

    test('a prompt that uses the budget up is broken off, and the conversation pauses', async () => {
      const cost = (amount: number) => ({ usage: { used: 1, size: 10, cost: { amount, currency: 'USD' } } })
      const acp = script(server.dir, { turns: [[cost(0.5), { say: 'half' }, begun('a'), cost(1.5), { hang: true }]] })
      const said = await begin(server, acp, 'go', { max_budget_per_task: 1 })
      await said.is('paused', 'error', 'finished')
      expect((await said.info()).execution_status).toBe('paused')
      const events = await said.events()
      expect(errors(events)).toEqual(['MaxBudgetReached'])
      expect(acp.of('session/cancel')).toHaveLength(1)
      expect(JSON.stringify(events)).toContain('half\\n\\n[Stopped here: the budget is used up.]')
      expect((await said.info()).stats.usage_to_metrics['acp-managed'].accumulated_cost).toBeCloseTo(1.5, 10)
    })
  })

  test('an agent that makes the same call again and again is stopped (F70)', async () => {
    const again = (n: number) => [
      begun(`c${n}`, { rawInput: { command: 'ls' } }),
      news(`c${n}`, { status: 'completed', rawOutput: 'files' }),
    ]
    const acp = script(server.dir, { turns: [[...again(1), ...again(2), ...again(3), ...again(4), { hang: true }]] })
    const said = await begin(server, acp)
    await said.is('stuck', 'finished', 'error')
    expect((await said.info()).execution_status).toBe('stuck')
    expect(errors(await said.events())).toEqual(['AgentStuck'])
    expect(acp.of('session/cancel')).toHaveLength(1)
  })

  test('a critic judges the end of a turn, and asks for another round', async () => {
    // A working copy without a change is no result.
    const working_dir = server.dir.file('copy')
    execFileSync('git', ['init', '-q', working_dir])
    const acp = script(server.dir, { turns: [[{ say: 'nothing done' }], [{ say: 'still nothing' }]] })
    const critic = {
      kind: 'AgentFinishedCritic',
      mode: 'finish_and_message',
      iterative_refinement: { success_threshold: 0.9, max_iterations: 2 },
    }
    const said = await begin(server, acp, 'go', { agent: { critic }, workspace: { working_dir } })
    await said.is('finished', 'error', 'stuck')
    const finish = (await said.events()).find(({ action }: any) => action?.kind === 'FinishAction')
    expect(finish.critic_result).toMatchObject({ score: expect.any(Number) })
    expect(acp.prompts()).toHaveLength(3)
    expect(acp.prompts()[1]![0]).not.toBe('go')
  })
})
