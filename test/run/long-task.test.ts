/**
 * Four hundred steps with a window of 16,000 tokens. The model refuses what does not fit its window, and every request is held
 * against the rules of its vendor: each call answered, in order, before anything else, and no answer without its call.
 */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { llmRecord } from '../../packages/server/testing/model-formats/configs.ts'
import { startScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { startTestServer } from '../../packages/server/testing/server.ts'
import { until } from '../crash/watching.ts'
import { recordFacts } from '../facts.ts'
import { answerToLong } from './long-task.ts'
import { message, start } from './running.ts'

const STEPS = 400
const WINDOW_TOKENS = 16_000

/** Every file below a folder with its content. */
async function treeOf(folder: string): Promise<Record<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name))
  const contents = await Promise.all(
    files.toSorted().map(async (file) => [file.slice(folder.length), await readFile(file, 'utf8')] as const),
  )
  return Object.fromEntries(contents)
}

async function doTask(format: 'chat' | 'anthropic', windowTokens: number | null) {
  await using server = await startTestServer()
  const work = server.dir.file('work')
  await using model = await startScriptedModel({ respond: answerToLong({ steps: STEPS, windowTokens, work }) })
  const llm = { ...llmRecord(format, model.url), max_input_tokens: windowTokens }
  const task = await start(server, {
    workspace: { working_dir: work },
    agent: {
      kind: 'Agent',
      llm,
      tools: [{ name: 'terminal' }, { name: 'file_editor' }],
      // As somebody writes it who read no more than its name.
      condenser: windowTokens === null ? null : { kind: 'LLMSummarizingCondenser', llm },
    },
    initial_message: message(`Do ${STEPS} steps.`),
    max_iterations: 2 * STEPS,
    autotitle: false,
  })
  const began = performance.now()
  await until(async () => ['finished', 'error', 'stuck'].includes((await task.info()).execution_status), 280_000)
  const events = await task.events()
  const sizes = model.requests.filter(({ view }) => view.tools.length > 0).map(({ text }) => text.length)
  return {
    status: (await task.info()).execution_status,
    failures: events.filter(({ kind }) => kind === 'ConversationErrorEvent'),
    condensations: events.filter(({ kind }) => kind === 'Condensation').length,
    refused: events.filter(({ kind }) => kind === 'CondensationRequest').length,
    tree: await treeOf(work),
    sizes,
    violations: model.violations,
    seconds: (performance.now() - began) / 1000,
  }
}

let endless: ReturnType<typeof doTask> | undefined
/** The same task without a limit, done once. */
const withoutLimit = () => (endless ??= doTask('chat', null))

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length

describe(`${STEPS} steps with a window of ${WINDOW_TOKENS} tokens`, () => {
  test.each(['chat', 'anthropic'] as const)(
    'leave the same tree of files as without a limit, over %s',
    async (format) => {
      const small = await doTask(format, WINDOW_TOKENS)
      expect(small.failures).toEqual([])
      expect(small.status).toBe('finished')
      expect(small.violations).toEqual([])
      expect(small.condensations).toBeGreaterThanOrEqual(20)

      const large = await withoutLimit()
      expect(large.status).toBe('finished')
      expect(large.violations).toEqual([])
      expect(large.condensations).toBe(0)
      expect(Object.keys(large.tree).length).toBeGreaterThan(STEPS / 10)
      expect(small.tree).toEqual(large.tree)

      const [first, last] = [mean(small.sizes.slice(100, 200)), mean(small.sizes.slice(-100))]
      expect(last / first).toBeLessThan(1.1)
      expect(Math.max(...small.sizes)).toBeLessThan(Math.max(...large.sizes) / 5)
      recordFacts(`long_task_${format}`, {
        steps: STEPS,
        window_tokens: WINDOW_TOKENS,
        condensations: small.condensations,
        refused_for_length: small.refused,
        bytes_per_step_mean: Math.round(mean(small.sizes)),
        bytes_per_step_max: Math.max(...small.sizes),
        bytes_last_100_steps_over_steps_100_to_200: Math.round((last / first) * 1000) / 1000,
        bytes_per_step_mean_without_limit: Math.round(mean(large.sizes)),
        bytes_per_step_max_without_limit: Math.max(...large.sizes),
        seconds: Math.round(small.seconds * 10) / 10,
        measured_at: new Date().toISOString(),
      })
    },
    600_000,
  )
})
