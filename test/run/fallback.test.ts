/** Profiles that take over when the model of a conversation cannot answer. Source: agent-core.md 10.5. */
import { describe, expect, test } from 'vitest'
import { startScriptedModel, type ScriptedAnswer } from '../../packages/server/testing/scripted-model.ts'
import { startTestServer } from '../../packages/server/testing/server.ts'
import { llmOf, message, start, starting } from '../../packages/server/testing/conversations.ts'

const quick = { num_retries: 1, retry_multiplier: 0, retry_min_wait: 0, retry_max_wait: 0 }

async function converse(first: readonly ScriptedAnswer[], second: readonly ScriptedAnswer[]) {
  await using primary = await startScriptedModel({ answers: first })
  await using other = await startScriptedModel({ answers: second })
  await using server = await startTestServer()
  const profile = await server.call('POST', '/api/profiles/spare', {
    llm: { model: 'openai/spare', base_url: `${other.url}/v1`, api_key: 'k', ...quick },
  })
  expect(profile.status).toBeLessThan(300)
  const llm = { ...llmOf(primary, quick), fallback_strategy: { fallback_llms: ['no-such-profile', 'spare'] } }
  const task = await start(
    server,
    starting(primary, server.dir.file('work'), { agent: { llm }, initial_message: message('go') }),
  )
  await task.is('finished', 'error')
  return {
    info: await task.info(),
    errors: await task.kinds('ConversationErrorEvent'),
    usage: (await task.kinds('UsageRecordedEvent')).map(({ model, usage_id }) => [usage_id, model]),
    asked: [primary.requests.length, other.requests.length],
    text: (await task.kinds('MessageEvent')).at(-1).llm_message.content[0].text,
  }
}

const call: ScriptedAnswer = { toolCalls: [{ id: 'c1', name: 'terminal', arguments: { command: 'echo hi' } }] }
const busy: ScriptedAnswer = { status: 503, error: 'overloaded' }

describe('a fallback', () => {
  test('a fallback answers one call after the retries, the next call begins with the first model, and the log names the model', async () => {
    const { info, asked, text } = await converse([busy, busy, { text: 'all done' }], [call])
    expect(info.execution_status).toBe('finished')
    expect(asked).toEqual([3, 1])
    expect(text).toBe('all done')
    const { default: metrics } = info.stats.usage_to_metrics
    expect(metrics.token_usages.map(({ model }: any) => model)).toEqual(['openai/spare', 'openai/scripted'])
    expect(metrics.accumulated_token_usage.prompt_tokens).toBe(200)
  }, 60_000)

  test('a fallback is not asked when the key is wrong', async () => {
    const { info, errors, asked } = await converse([{ status: 401, error: 'no' }], [call])
    expect(info.execution_status).toBe('error')
    expect(errors.at(-1)).toMatchObject({ code: 'LLMAuthenticationError' })
    expect(asked).toEqual([1, 0])
  }, 60_000)

  test('a failing fallback leaves the first failure to be reported', async () => {
    const { errors, asked } = await converse([busy, busy], [{ status: 401, error: 'no' }])
    expect(errors.at(-1)).toMatchObject({
      code: 'LLMServiceUnavailableError',
      detail: expect.stringMatching(/overloaded/),
    })
    expect(asked).toEqual([2, 1])
  }, 60_000)
})
