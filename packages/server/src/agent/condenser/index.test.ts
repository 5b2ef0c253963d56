import { Condenser as CondenserConfig, type LLM } from '@parley/protocol'
import { expect, test } from 'vitest'
import { LlmError, type Llm, type OpenLlm } from '../../llm/index.ts'
import { callEvent, resultEvent, prompt, messageEvent } from '../view/events.testing.ts'
import { canCondense, openCondenser, TokenMeter } from './index.ts'

const never = new AbortController().signal
const NoOp = { kind: 'NoOpCondenser' }
const summarizing = (model: string, members: object = {}) => ({
  kind: 'LLMSummarizingCondenser',
  llm: { model, ...members },
})
const pipeline = (...condensers: object[]) => ({ kind: 'PipelineCondenser', condensers })

const usage = {
  prompt_tokens: 1,
  completion_tokens: 1,
  cache_read_tokens: 0,
  cache_write_tokens: 0,
  reasoning_tokens: 0,
}
/** Models that fail, or answer with their own name. */
const openLlm: OpenLlm = ({ model, usage_id }): Llm => ({
  model,
  usageId: usage_id,
  complete: () =>
    model === 'broken'
      ? Promise.reject(new LlmError('LLMAuthenticationError', 'no key'))
      : Promise.resolve({
          responseId: 'r',
          text: model,
          reasoning: null,
          raw: null,
          toolCalls: [],
          finishReason: 'stop',
          usage: { tokens: { model, ...usage, context_window: 0, per_turn_token: 2 }, costUsd: null, latency: 0 },
        }),
})
const deps = { openLlm, log: { warn: () => undefined }, agentUsageId: 'default' }
const action = callEvent('a', 'r')
const input = {
  view: [prompt(), messageEvent('m', 'go'), action, resultEvent('o', action)],
  isRequested: true,
  next: null,
  inputLimit: null,
  meter: new TokenMeter([]),
}

test.each<[string, unknown, boolean, string | null]>([
  ['no condenser condenses nothing', NoOp, false, null],
  ['a summarising condenser condenses', summarizing('first'), true, 'first'],
  [
    'the first condenser of a pipeline that can condense does it',
    pipeline(NoOp, summarizing('first'), summarizing('second')),
    true,
    'first',
  ],
  [
    'the next condenser of a pipeline follows one that failed',
    pipeline(summarizing('broken'), pipeline(summarizing('second'))),
    true,
    'second',
  ],
  ['a pipeline without a summarising condenser condenses nothing', pipeline(NoOp), false, null],
])('%s', async (_name, shape, handles, summary) => {
  const config = CondenserConfig.parse(shape)
  const condenser = openCondenser(config, deps)
  expect([canCondense(config), condenser.handlesRequests]).toEqual([handles, handles])
  const result = await condenser.condense(input, never)
  expect(result.kind === 'condensed' ? result.condensation.summary : null).toBe(summary)
})

test('a pipeline in which every condenser fails returns the reason', async () => {
  const condenser = openCondenser(CondenserConfig.parse(pipeline(summarizing('broken'), NoOp)), deps)
  expect(await condenser.condense(input, never)).toMatchObject({
    kind: 'failed',
    error: { code: 'LLMAuthenticationError' },
  })
})

test.each<[string, object, string]>([
  ["with the agent's bucket it gets one of its own", { usage_id: 'default' }, 'condenser'],
  ['a bucket that was named is used', { usage_id: 'memory' }, 'memory'],
])('a summary is counted under its own usage id: %s', async (_name, members, bucket) => {
  const opened: LLM[] = []
  const condenser = openCondenser(CondenserConfig.parse(summarizing('first', { ...members, stream: true })), {
    ...deps,
    openLlm: (config) => {
      opened.push(config)
      return openLlm(config)
    },
  })
  expect((await condenser.condense(input, never)).spent).toMatchObject([{ usage_id: bucket }])
  expect(opened).toMatchObject([{ stream: false }])
})

test('a configuration without a condenser cannot condense', () => expect(canCondense(null)).toBe(false))

test('the token meter is corrected by the counts of the model, within bounds', () => {
  const meter = new TokenMeter([{ name: 't', description: 'x'.repeat(396), parameters: {} }])
  const view = [messageEvent('m', 'y'.repeat(4000))]
  const first = meter.view(view)
  expect(first).toBeGreaterThan(1100)
  meter.learn(first, first * 2)
  expect(meter.view(view)).toBeCloseTo(first * 2)
  meter.learn(meter.view(view), 1)
  expect(meter.view(view)).toBeCloseTo(first / 2)
  meter.learn(meter.view(view), 0)
  expect(meter.event(view[0]!)).toBeCloseTo((4000 / 4 + 4) / 2)
})

test('an image counts as an image and not as the text of its data URL', () => {
  const picture = messageEvent('m', '')
  picture.llm_message.content = [
    { type: 'image', image_urls: [`data:image/png;base64,${'A'.repeat(1e6)}`], cache_prompt: false },
  ]
  expect(new TokenMeter([]).event(picture)).toBeLessThan(2000)
})
