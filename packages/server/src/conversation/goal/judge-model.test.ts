import { LLM } from '@parley/protocol'
import { expect, test } from 'vitest'
import { isConfigured, NO_SERVER_KEY } from '../../llm/index.ts'
import { judgeModels } from './judge-model.ts'

const none = LLM.parse({ model: 'openai/' })
const own = LLM.parse({ model: 'openai/own', api_key: 'k' })
const users = { model: 'openai/users', api_key: 'k' }
const isUsable = (llm: LLM) => isConfigured(llm, { serverKey: NO_SERVER_KEY })

test("goals are judged by the agent's own model, or else by the model that its user has set up", async () => {
  const judge = judgeModels(isUsable, async () => users)
  expect(await judge('ann', { kind: 'Agent', llm: own })).toBe(own)
  expect(await judge('ann', { kind: 'ACPAgent', llm: none })).toMatchObject(users)
})

test('an ACP agent without any model cannot have a goal, a native one fails when the model is asked', async () => {
  const judge = judgeModels(isUsable, async () => ({}))
  await expect(judge('ann', { kind: 'ACPAgent', llm: none })).rejects.toMatchObject({ code: 'bad_request' })
  expect(await judge('ann', { kind: 'Agent', llm: none })).toBe(none)
})
