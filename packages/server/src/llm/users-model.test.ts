import { openTestLlm } from '../../testing/requests.ts'
import { LLM } from '@parley/protocol'
import { expect, test } from 'vitest'
import { startScriptedModel } from '../../testing/scripted-model.ts'
import { withUsersModel } from './users-model.ts'

const request = {
  messages: [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'hello' }] }],
  tools: [],
}
const never = new AbortController().signal

test('a model without configuration is the one that its user has set up by the time of the request', async () => {
  await using model = await startScriptedModel({ answers: [{ text: 'one' }, { text: 'two' }] })
  const users: Record<string, unknown> = {}
  const config = LLM.parse({ model: 'openai/', usage_id: 'agent' })
  const llm = withUsersModel(openTestLlm, async () => users)(config)
  const ask = () => llm.complete(request, () => undefined, never)
  await expect(ask()).rejects.toMatchObject({ code: 'LLMNotConfigured' })
  Object.assign(users, { model: 'openai/first', base_url: `${model.url}/v1`, api_key: 'key-of-a-user' })
  expect((await ask()).text).toBe('one')
  expect([llm.model, llm.usageId]).toEqual(['openai/first', 'agent'])
  users['model'] = 'openai/second'
  expect((await ask()).text).toBe('two')
  expect(model.requests.map(({ body }) => body['model'])).toEqual(['first', 'second'])
})

test('a configured model is not replaced by the model of its user', async () => {
  await using model = await startScriptedModel({ answers: [{ status: 401, error: 'wrong key' }] })
  const config = LLM.parse({
    model: 'openai/own',
    base_url: `${model.url}/v1`,
    api_key: 'key-of-a-user',
    num_retries: 0,
  })
  const llm = withUsersModel(openTestLlm, async () => ({ model: 'openai/other' }))(config)
  await expect(llm.complete(request, () => undefined, never)).rejects.toMatchObject({ code: 'LLMAuthenticationError' })
  expect(model.requests.map(({ body }) => body['model'])).toEqual(['own'])
})
