import { Agent, LLM } from '@parley/protocol'
import { expect, test } from 'vitest'
import { withVision } from './vision.ts'

const agentOf = (model: string) => Agent.parse({ llm: { model } })
const profiles = [{ name: 'vision', llm: LLM.parse({ model: 'openai/gpt-4o' }) }]

test('an agent whose model reads no images gets the vision tool when a saved profile reads them', async () => {
  const agent = agentOf('deepseek/deepseek-chat')
  const complete = await withVision(agent, async () => profiles)
  expect(complete.include_default_tools).toEqual([...agent.include_default_tools, 'VisionInspectTool'])
  expect(await withVision(complete, async () => profiles)).toBe(complete)
  expect(await withVision(agent, async () => [])).toBe(agent)
})

test('profiles are not looked up for a model that reads images', async () => {
  const agent = agentOf('openai/gpt-4o')
  const complete = withVision(agent, () => Promise.reject(new Error('looked up')))
  expect(await complete).toBe(agent)
})
