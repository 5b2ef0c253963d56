import { describe, expect, test } from 'vitest'
import { llmRecord } from '../../packages/server/testing/model-formats/configs.ts'
import { startScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { startTestServer } from '../../packages/server/testing/server.ts'
import { until } from '../../packages/server/testing/until.ts'

const terminal = (command: string, id: string) => ({ id, name: 'terminal', arguments: { command } })

describe.each(['chat', 'responses', 'anthropic', 'gemini'] as const)('a model that speaks %s', (format) => {
  test('a model of this format makes parallel calls, a malformed one and a long command, and its usage is counted', async () => {
    await using model = await startScriptedModel({
      by: 'turn',
      answers: [
        {
          text: 'Two at once.',
          toolCalls: [terminal('echo one', 'c1'), terminal('echo two', 'c2')],
          usage: { input: 100, output: 10 },
        },
        {
          toolCalls: [{ id: 'c3', name: 'terminal', arguments: '{"command": "ls' }],
          usage: { input: 200, output: 10 },
        },
        {
          toolCalls: [terminal('for n in 1 2 3; do echo tick $n; sleep 0.5; done', 'c4')],
          usage: { input: 300, output: 10 },
        },
        { text: 'All done.', usage: { input: 400, output: 10 } },
      ],
    })
    await using server = await startTestServer()
    const { status, body: created } = await server.call('POST', '/api/conversations', {
      workspace: { working_dir: server.dir.file('work') },
      agent: {
        kind: 'Agent',
        llm: llmRecord(format, model.url),
        tools: [{ name: 'terminal' }],
        tool_concurrency_limit: 2,
      },
      initial_message: { content: [{ type: 'text', text: 'go' }] },
    })
    expect(status).toBe(201)
    const info = async () => (await server.call('GET', `/api/conversations/${created.id}`)).body
    await until(async () => ['finished', 'error'].includes((await info()).execution_status))

    const { body: page } = await server.call('GET', `/api/conversations/${created.id}/events/search`)
    const events: any[] = page.items
    const answers = events.filter(({ kind }) => kind === 'ObservationEvent' || kind === 'AgentErrorEvent')
    expect(answers.map(({ kind, tool_call_id }) => [kind, tool_call_id])).toEqual([
      ['ObservationEvent', 'c1'],
      ['ObservationEvent', 'c2'],
      ['AgentErrorEvent', 'c3'],
      ['ObservationEvent', 'c4'],
    ])
    const texts = answers.map(({ observation, error }) => observation?.content[0].text ?? error)
    expect(texts[0]).toMatch(/^one/)
    expect(texts[1]).toMatch(/^two/)
    expect(texts[2]).not.toContain('ls')
    expect(texts[3]).toMatch(/^tick 1\ntick 2\ntick 3/)
    expect(model.violations).toEqual([])

    const { stats, execution_status } = await info()
    expect(execution_status).toBe('finished')
    const metrics = stats.usage_to_metrics.default
    expect(metrics.accumulated_token_usage).toMatchObject({ prompt_tokens: 1000, completion_tokens: 40 })
    expect(metrics.accumulated_cost).toBeGreaterThan(0)
    expect(metrics.costs).toHaveLength(4)
    expect(metrics.response_latencies).toHaveLength(4)
    expect(metrics.token_usages.map(({ prompt_tokens }: any) => prompt_tokens)).toEqual([100, 200, 300, 400])
  }, 60_000)
})
