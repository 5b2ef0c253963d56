import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { Agent, AgentBase } from '@parley/protocol'
import { expect, test } from 'vitest'
import { tempDir } from '../../testing/temp.ts'
import { expectAgent } from './agent-checks.ts'
import { promptFilesOf } from './prompts/prompt-files.ts'

const native = (members: object) => Agent.parse({ llm: { model: 'scripted/x' }, ...members })
const acp = (members: object) => AgentBase.parse({ kind: 'ACPAgent', acp_command: ['an-agent'], ...members })

async function withPrompts(files: Record<string, string>) {
  const dir = await tempDir()
  await mkdir(dir.file('prompts'))
  for (const [name, text] of Object.entries(files)) await writeFile(dir.file('prompts', name), text)
  return dir
}

test('an agent with known tools and files of the prompts folder is accepted', async () => {
  await using dir = await withPrompts({ 'own.j2': 'You help with {{ model_name }}.', 'policy.md': 'Ask first.' })
  const files = { system_prompt_filename: 'own.j2', security_policy_filename: 'policy.md' }
  await expectAgent(native({ ...files, tools: [{ name: 'terminal' }] }), [], dir.path)
  expect((await promptFilesOf(native(files), dir.path))().policy).toBe('Ask first.')
})

test.each<[string, AgentBase, string]>([
  ['an unknown tool', native({ tools: [{ name: 'no_such_tool' }] }), 'no_such_tool'],
  ['a missing prompt file', native({ system_prompt_filename: 'none.j2' }), "'none.j2'"],
  ['a prompt file outside of the folder', native({ system_prompt_filename: '../secret.txt' }), "'../secret.txt'"],
  ['a link out of the folder', native({ security_policy_filename: 'link.md' }), "'link.md'"],
  ['a template that cannot be read', native({ system_prompt_filename: 'broken.j2' }), 'broken.j2'],
  ['a name filter that is no expression', acp({ filter_tools_regex: '(' }), 'filter_tools_regex'],
])('%s is refused', async (_, agent, text) => {
  await using dir = await withPrompts({ 'broken.j2': '{% if %}' })
  await writeFile(dir.file('secret.txt'), 'not for agents')
  await symlink(dir.file('secret.txt'), dir.file('prompts', 'link.md'))
  const refusal = expectAgent(agent, [], dir.path)
  await expect(refusal).rejects.toMatchObject({ code: 'invalid_input' })
  await expect(refusal).rejects.toThrow(text)
})

test('an error in prompt files is thrown when a prompt is made, not when the agent is opened', async () => {
  await using dir = await withPrompts({})
  const files = await promptFilesOf(native({ system_prompt_filename: 'none.j2' }), dir.path)
  expect(files).toThrow("'none.j2'")
})
