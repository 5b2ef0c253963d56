/**
 * Fifty steps with reasoning, parallel calls and images, a condensation and a model switch in between, against servers that refuse what
 * their vendors refuse and count what they cache.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
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

const STEPS = 50
/** Each of the three turns ends with words, after these steps. */
const TURN_ENDS = new Set([17, 34, STEPS])
const LEAST_SHARE = 0.9
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

type Format = (typeof FORMAT_NAMES)[number]

/** Two models in each format. */
const MODELS: Record<Format, readonly [string, string]> = {
  chat: ['openai/kimi-k2.5', 'openai/glm-4.6v'],
  responses: ['openai/gpt-5', 'openai/gpt-5.1'],
  anthropic: ['anthropic/claude-sonnet-4-5', 'anthropic/claude-opus-4-5'],
  gemini: ['gemini/gemini-2.5-pro', 'gemini/gemini-3.1-pro-preview'],
}

const shell = (command: string) => ({ name: 'terminal', arguments: { command } })

function callsOf(step: number, work: string) {
  if (step % 10 === 3) return [{ name: 'file_editor', arguments: { command: 'view', path: join(work, 'pixel.png') } }]
  return Array.from({ length: step % 5 === 0 ? 3 : 1 }, (_, at) => shell(`echo "result ${step}.${at}"; seq 1 200`))
}

function thoughts(format: Format, step: number): ScriptedAnswer {
  const thinking = `Now step ${step}. `.repeat(10)
  const signature = `signature-${step}`
  if (format === 'anthropic') return { thinking: [{ thinking, signature }] }
  return format === 'chat' ? { reasoning: thinking } : { reasoning: thinking, signature }
}

test.each(FORMAT_NAMES)(
  'fifty steps over %s: nothing is refused, and what can be cached is cached',
  async (format) => {
    await using server = await startTestServer()
    const work = server.dir.file('work')
    await mkdir(work)
    await writeFile(join(work, 'pixel.png'), Buffer.from(PIXEL, 'base64'))
    let step = 0
    await using model = await startScriptedModel({
      respond: ({ view }) => {
        if (asksForSummary(view)) return { text: 'A summary of the steps so far.' }
        if (TURN_ENDS.has(step++)) return { ...thoughts(format, step), text: `Done with ${step}.` }
        return { ...thoughts(format, step), text: `Step ${step}.`, toolCalls: callsOf(step, work) }
      },
    })
    const [first, second] = MODELS[format].map((name, at) =>
      llmRecord(format, model.url, { model: name, api_key: 'test-key-012345678' + at }),
    )
    const task = await start(server, {
      workspace: { working_dir: work },
      agent: {
        kind: 'Agent',
        llm: first,
        tools: [{ name: 'terminal' }, { name: 'file_editor' }],
        condenser: { kind: 'LLMSummarizingCondenser', llm: first },
      },
      autotitle: false,
    })
    const run = async (text: string) => {
      await task.post('events', { ...message(text), run: true })
      await task.is('finished', 'error', 'stuck')
    }
    await run('Do the steps.')
    expect((await task.post('condense')).status).toBe(200)
    await run('Go on.')
    expect((await task.post('switch_llm', { llm: second })).status).toBe(200)
    await run('Go on.')

    expect(model.violations).toEqual([])
    expect(await task.kinds('ConversationErrorEvent')).toEqual([])
    expect(await task.kinds('Condensation')).toHaveLength(1)
    expect(step).toBe(STEPS + 1)
    // The task has what it says: reasoning is sent back, and images are.
    const early = model.requests[10]?.text ?? ''
    expect([early.includes(PIXEL), early.includes(format === 'chat' ? 'Now step 5.' : 'signature-5')]).toEqual([
      true,
      true,
    ])
    const reads = cacheReads(model.requests.filter(({ view }) => view.tools.length > 0))
    const sum = (member: 'cached' | 'allowed') => reads.reduce((total, read) => total + read[member], 0)
    const share = sum('cached') / sum('allowed')
    expect(share).toBeGreaterThanOrEqual(LEAST_SHARE)
    recordFacts(`fifty_steps_${format}`, {
      requests: model.requests.length,
      refused: model.violations.length,
      cached_percent: Math.round(share * 100),
    })
  },
  60_000,
)
