/** Failures of servers of local models, as clients see them. Source: docs/models.md, Errors. */
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { llmOf, message, start, starting } from '../../packages/server/testing/conversations.ts'
import { startScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { startTestServer } from '../../packages/server/testing/server.ts'

const REASON = 'the model "qwen3" is not here, pull it first'

test.each<[string, Record<string, unknown>]>([
  ['Ollama', { error: REASON }],
  ['vLLM', { object: 'error', message: REASON, type: 'NotFoundError', param: null, code: 404 }],
  ['FastAPI', { detail: REASON }],
  ['a check of FastAPI', { detail: [{ loc: ['body', 'model'], msg: REASON, type: 'value_error' }] }],
])(
  'the error of a run contains the reason that %s gives',
  async (_, error) => {
    await using server = await startTestServer()
    await using model = await startScriptedModel({ answers: [{ status: 404, error }] })
    const request = starting(model, server.dir.file('work'), { initial_message: message('go') })
    const task = await start(server, request)
    await task.is('error')
    const [failed] = await task.kinds('ConversationErrorEvent')
    expect(failed).toMatchObject({ code: 'NotFoundError', detail: expect.stringContaining(REASON) })
  },
  60_000,
)

test('a run whose local model does not answer fails after one repetition, and its error names the address', async () => {
  const listener = createServer().listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const { port } = listener.address() as AddressInfo
  listener.close()
  await using server = await startTestServer()
  await using model = await startScriptedModel()
  const llm = llmOf(model, { base_url: `http://127.0.0.1:${port}/v1`, num_retries: 5 })
  const request = starting(model, server.dir.file('work'), { agent: { llm }, initial_message: message('go') })
  const task = await start(server, request)
  await task.is('error')
  const retries = (await task.kinds('ConversationStateUpdateEvent')).filter(({ key }) => key === 'model_retry')
  expect(retries.map(({ value }) => value)).toEqual([
    expect.objectContaining({ attempt: 1, code: 'LLMServiceUnavailableError' }),
  ])
  const [failed] = await task.kinds('ConversationErrorEvent')
  expect(failed.detail).toContain(`connection refused by http://127.0.0.1:${port}/v1`)
}, 60_000)
