import { mkdir, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { expect, test } from 'vitest'
import { diskWorkspace } from '../../../../testing/disk-workspace.ts'
import { tempDir } from '../../../../testing/temp.ts'
import type { ConversationRecord } from '../../record/record.ts'
import { attachPlugins } from './plugins.ts'

const never = new AbortController().signal

async function openPlugins(files: Record<string, string>) {
  const dir = await tempDir()
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(dir.file(path)), { recursive: true })
    await writeFile(dir.file(path), text)
  }
  const deps = {
    workspace: diskWorkspace(dir.file('work')),
    hosts: {} as never,
    providerToken: async () => null,
    pluginsDir: dir.file('plugins'),
  }
  const attach = (...paths: string[]) => {
    const plugins = paths.map((path) => ({
      source: dir.file(path),
      ref: null,
      repo_path: null,
      name: null,
      root: null,
      resolved_ref: null,
    }))
    return attachPlugins(deps, { owner: 'ann', record: { plugins } as unknown as ConversationRecord }, never)
  }
  return Object.assign(dir, { attach })
}

const AGENT = (prompt: string) => `---\nname: helper\ndescription: Helps.\n---\n${prompt}\n`

test('plugins bring skills, servers and sub-agents; a later plugin replaces names of an earlier one', async () => {
  await using at = await openPlugins({
    'a/.plugin/plugin.json': '{"name":"a"}',
    'a/skills/one/SKILL.md': '---\nname: one\ndescription: One.\n---\nOne.',
    'a/.mcp.json': '{"mcpServers":{"docs":{"url":"https://a.example/mcp"}}}',
    'a/agents/helper.md': AGENT('From a.'),
    'b/.plugin/plugin.json': '{"name":"b"}',
    'b/.mcp.json': '{"mcpServers":{"docs":{"url":"https://b.example/mcp"}}}',
    'b/agents/helper.md': AGENT('From b.'),
    'b/agents/broken.md': '---\n: [\n---\n',
  })
  const { plugins, skills, mcp, definitions, notes } = await at.attach('a', 'b')
  expect(plugins.map(({ name, root }) => [name, root])).toEqual([
    ['a', at.file('a')],
    ['b', at.file('b')],
  ])
  expect(skills.map(({ name }) => name)).toEqual(['one'])
  expect(mcp['docs']).toMatchObject({ url: 'https://b.example/mcp' })
  expect(definitions.map(({ name, system_prompt }) => [name, system_prompt.trim()])).toEqual([['helper', 'From b.']])
  expect(notes.filter((note) => note.includes('broken.md'))).toHaveLength(1)
})

test('a plugin that cannot be read fails the start', async () => {
  await using at = await openPlugins({ 'work/file': '' })
  await expect(at.attach('none')).rejects.toMatchObject({ name: 'StartFailure', code: 'PLUGIN$UNUSABLE' })
})
