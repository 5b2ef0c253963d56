import { Agent, AgentDefinition } from '@parley/protocol'
import { expect, test } from 'vitest'
import { childAgent } from './child-agent.ts'

test("a sub-agent gets its parent's instructions, also from a file", () => {
  const files = { system_prompt_filename: 'own.j2', security_policy_filename: 'rules.md' }
  const parent = Agent.parse({ llm: { model: 'scripted/x' }, ...files, system_prompt_kwargs: { who: 'owl' } })
  const definition = AgentDefinition.parse({ name: 'helper' })
  expect(childAgent(parent, definition, null)).toMatchObject({ ...files, system_prompt_kwargs: { who: 'owl' } })
})
