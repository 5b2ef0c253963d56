import { readdir, readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { startScriptedModel, type ScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { startTestServer } from '../../packages/server/testing/server.ts'
import { startServerProcess } from '../../packages/server/testing/server-process.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { answerTo, CHARS_PER_TOKEN, traceOf } from './long-task.ts'
import { conversation, llmOf, message, start, starting } from './running.ts'

const STEPS = 250
/** The system prompt and the tools take most of it. */
const MAX_CHARS = 26_000

const request = (model: ScriptedModel, work: string, llm: object, condenser: object | null) => {
  const own = llmOf(model, llm)
  return starting(model, work, {
    agent: { llm: own, condenser: condenser && { kind: 'LLMSummarizingCondenser', llm: own, ...condenser } },
    initial_message: message(`Do ${STEPS} steps.`),
  })
}

async function filesOf(folder: string): Promise<Record<string, string>> {
  const names = (await readdir(folder)).toSorted()
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await readFile(`${folder}/${name}`, 'utf8')])),
  )
}

/** Does the task with a model that takes `maxChars`, and returns everything that can be seen of it. */
async function doTask(maxChars: number | null, llm: object, condenser: object | null) {
  await using model = await startScriptedModel({ respond: answerTo({ steps: STEPS, maxChars }) })
  await using server = await startTestServer()
  const work = server.dir.file('work')
  const task = await start(server, request(model, work, llm, condenser))
  await task.is('finished', 'error', 'stuck')
  const events = await task.events()
  return {
    info: await task.info(),
    kinds: (kind: string) => events.filter((event) => event.kind === kind),
    files: await filesOf(work),
    refused: model.requests.filter(({ text }) => maxChars !== null && text.length > maxChars).length,
    largest: Math.max(...model.requests.map(({ text }) => text.length)),
    violations: model.violations,
  }
}

type Done = Awaited<ReturnType<typeof doTask>>
let unlimited: Promise<Done> | undefined
/** The same task with a window without end, done once. */
const withoutEnd = () => (unlimited ??= doTask(null, {}, null))

describe(`a task of ${STEPS} steps`, () => {
  test.each<[string, object]>([
    ['a small window that the configuration names', { max_input_tokens: 6000 }],
    ['a small window that nobody knows of', {}],
  ])(
    'with %s, leaves the same files as with a window without end',
    async (_name, llm) => {
      const small = await doTask(MAX_CHARS, llm, {})
      expect(small.info.execution_status).toBe('finished')
      expect(small.violations).toEqual([])
      expect(small.kinds('Condensation').length).toBeGreaterThanOrEqual(20)
      expect(small.files['trace']).toBe(traceOf(STEPS))
      // A request that is refused is one step too long.
      expect(small.largest).toBeLessThan(MAX_CHARS + 2000)
      if ('max_input_tokens' in llm) expect(small.refused).toBe(0)
      else expect(small.kinds('CondensationRequest')).toHaveLength(small.refused)

      const { usage_to_metrics } = small.info.stats
      expect(usage_to_metrics.condenser.accumulated_token_usage.prompt_tokens).toBeGreaterThan(0)
      expect(usage_to_metrics.condenser.token_usages).toHaveLength(small.kinds('Condensation').length)

      const large = await withoutEnd()
      expect(large.kinds('Condensation')).toEqual([])
      expect(large.largest).toBeGreaterThan(3 * MAX_CHARS)
      expect(small.files).toEqual(large.files)
    },
    240_000,
  )

  test('with a small window and no condenser, ends with a word about the window', async () => {
    const { info, kinds } = await doTask(MAX_CHARS, {}, null)
    expect(info.execution_status).toBe('error')
    expect(kinds('ConversationErrorEvent').at(-1)).toMatchObject({ code: 'LLMContextWindowExceedError' })
  }, 60_000)
})

describe('kill -9', () => {
  test.each(['before', 'after'] as const)(
    '%s a condensation is stored changes nothing',
    async (when) => {
      const steps = 30
      await using dir = await tempDir()
      await using model = await startScriptedModel({ respond: answerTo({ steps, maxChars: MAX_CHARS }) })
      const options = { dataDir: dir.file('data') }
      const first = await startServerProcess({ ...options, crash: { at: 'Condensation', when } })
      const llm = { max_input_tokens: MAX_CHARS / CHARS_PER_TOKEN - 500 }
      const { id } = await start(first, request(model, dir.file('work'), llm, {}))
      await first.exited

      await using second = await startServerProcess(options)
      const task = conversation(second, id)
      await task.is('finished', 'error', 'stuck')
      expect((await task.info()).execution_status).toBe('finished')
      expect(await readFile(dir.file('work', 'trace'), 'utf8')).toBe(traceOf(steps))
      const events = await task.events()
      const calls = events.filter(({ kind }) => kind === 'ActionEvent').map(({ id }) => id)
      expect(events.filter(({ kind }) => kind === 'ObservationEvent').map(({ action_id }) => action_id)).toEqual(calls)
      expect(events.filter(({ kind }) => kind === 'Condensation').length).toBeGreaterThan(1)
      expect(model.violations).toEqual([])
      await second.call('DELETE', `/api/conversations/${id}`)
    },
    120_000,
  )
})
