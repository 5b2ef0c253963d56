/** What of a request for a summary the vendors read from their caches, counted by servers that refuse what their vendors refuse. */
import { expect, test } from 'vitest'
import { message, start } from '../../packages/server/testing/conversations.ts'
import { cacheReads } from '../../packages/server/testing/model-formats/cache.ts'
import { FORMAT_NAMES, llmRecord } from '../../packages/server/testing/model-formats/configs.ts'
import {
  asksForSummary,
  startScriptedModel,
  type ScriptedAnswer,
} from '../../packages/server/testing/scripted-model.ts'
import { startTestServer } from '../../packages/server/testing/server.ts'
import { recordFacts } from '../facts.ts'

const STEPS = 60
const LEAST_SHARE = 0.9

type Format = (typeof FORMAT_NAMES)[number]

/** The Claude keeps the reasoning of earlier turns, as the other models do; see `forgetsReasoning`. */
const MODELS: Record<Format, string> = {
  chat: 'openai/kimi-k2.5',
  responses: 'openai/gpt-5',
  anthropic: 'anthropic/claude-opus-4-5',
  gemini: 'gemini/gemini-2.5-pro',
}

function thoughts(format: Format, step: number): ScriptedAnswer {
  const thinking = `Now step ${step}. `.repeat(10)
  const signature = `signature-${step}`
  if (format === 'anthropic') return { thinking: [{ thinking, signature }] }
  return format === 'chat' ? { reasoning: thinking } : { reasoning: thinking, signature }
}

const shell = (command: string) => ({ name: 'terminal', arguments: { command } })

test.each(FORMAT_NAMES)(
  'a summary over %s reads what the format allows from the cache',
  async (format) => {
    await using server = await startTestServer()
    let step = 0
    await using model = await startScriptedModel({
      respond: ({ view }) => {
        if (asksForSummary(view)) return { ...thoughts(format, step), text: 'A summary of the steps so far.' }
        if (step++ === STEPS) return { text: 'Done.' }
        const calls = Array.from({ length: step % 5 === 0 ? 3 : 1 }, (_, at) =>
          shell(`echo "${step}.${at}"; seq 1 200`),
        )
        return { ...thoughts(format, step), text: `Step ${step}.`, toolCalls: calls }
      },
    })
    const llm = llmRecord(format, model.url, { model: MODELS[format], reasoning_effort: 'high' })
    const task = await start(server, {
      workspace: { working_dir: server.dir.file('work') },
      agent: {
        kind: 'Agent',
        llm,
        tools: [{ name: 'terminal' }],
        condenser: { kind: 'LLMSummarizingCondenser', llm: { ...llm, usage_id: 'condenser' }, max_size: 80 },
      },
      autotitle: false,
      initial_message: message('Do the steps.'),
    })
    await task.is('finished', 'error', 'stuck')

    expect(model.violations).toEqual([])
    const condensations = await task.kinds('Condensation')
    expect(condensations.length).toBeGreaterThanOrEqual(2)
    const asked = model.requests.filter(({ view }) => asksForSummary(view))
    expect(asked).toHaveLength(condensations.length)
    const reads = cacheReads(model.requests).filter((_, at) => asked.includes(model.requests[at]!))
    const sum = (member: 'cached' | 'allowed') => reads.reduce((total, read) => total + read[member], 0)
    const share = sum('cached') / sum('allowed')
    expect(sum('allowed')).toBeGreaterThan(0)
    expect(share).toBeGreaterThanOrEqual(LEAST_SHARE)
    recordFacts(`summary_cache_${format}`, {
      summaries: reads.length,
      refused: model.violations.length,
      cached_percent: Math.round(share * 100),
    })
  },
  120_000,
)
