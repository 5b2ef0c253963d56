import { expect, test } from 'vitest'
import { readDefinition } from './definition-file.ts'

const read = (head: string, body = 'You help.') =>
  readDefinition(`---\n${head}\n---\n${body}\n`, '.agents/agents/helper.md', 'project')

test('a definition file contains every member in its head and the prompt in its body', async () => {
  const definition = await read(
    [
      'description: Helps. <example>When stuck</example>',
      'model: fast',
      'tools: [terminal, file_editor]',
      'skills: one, two',
      'color: green',
      'permission_mode: always_confirm',
      'max_iteration_per_run: 7',
      'max_budget_per_run: 0.5',
      'mcp_servers: { docs: { url: "https://docs.example/mcp" } }',
      'condenser: off',
      'profile_store_dir: /etc',
      'team: core',
    ].join('\n'),
  )
  expect(definition).toMatchObject({
    name: 'helper',
    description: 'Helps.',
    when_to_use_examples: ['When stuck'],
    model: 'fast',
    tools: ['terminal', 'file_editor'],
    skills: ['one', 'two'],
    color: 'green',
    permission_mode: 'always_confirm',
    max_iteration_per_run: 7,
    max_budget_per_run: 0.5,
    condenser: { kind: 'NoOpCondenser' },
    system_prompt: 'You help.',
    level: 'project',
    profile_store_dir: null,
    metadata: { team: 'core' },
  })
  expect(Object.keys(definition.mcp_config ?? {})).toEqual(['docs'])
})

test('a definition file has defaults for missing members', async () => {
  const plain = await readDefinition('Just a prompt.', '.agents/agents/plain.md', 'user')
  expect(plain).toMatchObject({
    name: 'plain',
    model: 'inherit',
    tools: [],
    condenser: null,
    system_prompt: 'Just a prompt.',
  })
})

test.each<[head: string, reason: RegExp]>([
  ['permission_mode: sometimes', /permission_mode 'sometimes'/],
  ['max_iteration_per_run: 0', /max_iteration_per_run/],
  ['max_budget_per_run: -1', /max_budget_per_run/],
  ['tools: { a: b }', /tools/],
  ['name: [', /no YAML/],
])('a definition file with %s is refused', async (head, reason) => {
  await expect(read(head)).rejects.toThrow(reason)
})

test('a boolean budget in a definition file counts as none', async () => {
  expect((await read('max_budget_per_run: true')).max_budget_per_run).toBe(null)
})
