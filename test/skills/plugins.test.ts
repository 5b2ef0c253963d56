import { existsSync } from 'node:fs'
import { readdir, readFile, rm, symlink } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { startGitServer } from '../../packages/server/testing/git-server.ts'
import { findBubblewrap } from '../../packages/server/src/workspace/index.ts'
import { ofKind } from '../../packages/server/testing/restartable-server.ts'
import { startScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { startServerProcess } from '../../packages/server/testing/server-process.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { until } from '../../packages/server/testing/until.ts'
import { conversation, llmOf, message } from '../../packages/server/testing/conversations.ts'
import { messagesOf, obey, openWorld } from '../../packages/server/testing/skill-conversations.ts'

const PLUGIN = {
  '.claude-plugin/plugin.json': JSON.stringify({ name: 'tools', version: '1.2.3', description: 'For releases.' }),
  'skills/release/SKILL.md': '---\ndescription: Of the plugin\ntriggers: [release]\n---\nTag of the plugin.',
  'commands/check.md': '---\ndescription: Checks\n---\nCheck everything.',
  'hooks/hooks.json': JSON.stringify({
    hooks: { SessionStart: [{ hooks: [{ type: 'command', command: 'sh "${CLAUDE_PLUGIN_ROOT}/hooks/begin.sh"' }] }] },
  }),
  'hooks/begin.sh': 'echo began > begun.txt\n',
  'agents/reviewer.md': '---\ndescription: Reviews\n---\nReview.',
  '.mcp.json': JSON.stringify({
    mcpServers: {
      notes: { type: 'stdio', command: 'node', args: ['${CLAUDE_PLUGIN_ROOT}/server.js'], env: { KEY: '${KEY}' } },
      kept: { url: 'https://of-the-plugin.example.org' },
    },
  }),
}
const placed = (folder: string, files: Record<string, string> = PLUGIN) =>
  Object.fromEntries(Object.entries(files).map(([path, text]) => [`${folder}/${path}`, text]))

/** Servers that are configured are not asked for tools in these tests. */
const disabled = (files: Record<string, string>) => {
  const { mcpServers } = JSON.parse(files['.mcp.json']!)
  const off = Object.fromEntries(
    Object.entries<object>(mcpServers).map(([name, of]) => [name, { ...of, enabled: false }]),
  )
  return { ...files, '.mcp.json': JSON.stringify({ mcpServers: off }) }
}

test('a plugin in a folder brings skills, commands, hooks and MCP servers', async () => {
  await using world = await openWorld()
  await world.put(placed('work/tools', disabled(PLUGIN)))
  const id = await world.talk('work', 'a release, then /tools:check', { plugins: [{ source: './tools' }] })
  const [message] = messagesOf(await world.events(id))
  expect(message.activated_skills.toSorted()).toEqual(['release', 'tools:check'])
  expect(message.extended_content[0].text).toMatch(/Tag of the plugin\..*Check everything\./s)
  expect(await readFile(world.file('work/begun.txt'), 'utf8')).toBe('began\n')
  const { body } = await world.call('GET', `/api/conversations/${id}`)
  expect(body.agent.mcp_config.notes).toMatchObject({ transport: 'stdio', args: [world.file('work/tools/server.js')] })
  expect(body.hook_config.session_start).toHaveLength(1)
  const phase = (await world.wholeLog(id)).find(({ value }) => value?.phase === 'skills' && value.status === 'done')
  expect(phase.value.detail).toContain('plugins: tools')
})

test('a sub-agent that a plugin defines can be started', async () => {
  await using world = await openWorld()
  await world.put(placed('tools', disabled(PLUGIN)))
  const id = await world.talk('work', 'hello', {
    agent: { tools: [{ name: 'task' }] },
    plugins: [{ source: world.file('tools') }],
  })
  const [prompt] = ofKind(await world.events(id), 'SystemPromptEvent')
  const task = prompt.tools.find(({ title }: { title: string }) => title.startsWith('task'))
  expect(task.description).toContain('reviewer')
})

test('later plugins replace skills of earlier ones and of the project, and the hooks of all plugins run', async () => {
  await using world = await openWorld()
  const hooks = (file: string) => JSON.stringify({ SessionStart: [{ hooks: [{ command: `echo x >> ${file}` }] }] })
  const skill = (text: string) => `---\ntriggers: [alpha]\n---\n${text}`
  await world.put({
    'work/.agents/skills/one/SKILL.md': skill('of the project'),
    'first/skills/one/SKILL.md': skill('of the first'),
    'first/hooks/hooks.json': hooks('first.txt'),
    'second/skills/one/SKILL.md': skill('of the second'),
    'second/hooks/hooks.json': hooks('second.txt'),
  })
  const id = await world.talk('work', 'alpha', {
    agent: { agent_context: { load_project_skills: true } },
    hook_config: { SessionStart: [{ hooks: [{ command: 'echo x >> own.txt' }] }] },
    plugins: [{ source: world.file('first') }, { source: world.file('second') }],
  })
  expect(messagesOf(await world.events(id))[0].extended_content[0].text).toContain('of the second')
  for (const file of ['own.txt', 'first.txt', 'second.txt'])
    expect(await readFile(world.file('work', file), 'utf8')).toBe('x\n')
})

describe('from git', () => {
  test('a plugin is fetched from git at a ref with the stored token, stored outside the workspace, and kept over a restart', async () => {
    await using git = await startGitServer()
    const files = Object.fromEntries(
      Object.entries(disabled(PLUGIN)).map(([path, text]) => [`packs/tools/${path}`, text]),
    )
    await git.add('acme/pack', { files, branches: ['next'] })
    git.mode = 'private'
    git.password = 'token-of-the-host'
    await using world = await openWorld({ PARLEY_GIT_HOSTS: JSON.stringify({ github: git.url }) })
    const stored = await world.call('POST', '/api/settings', {
      secrets_store: { provider_tokens: { github: { token: git.password } } },
    })
    expect(stored.status, stored.text).toBeLessThan(300)
    const id = await world.talk('work', 'a release', {
      plugins: [{ source: 'github:acme/pack', ref: 'next', repo_path: 'packs/tools' }],
    })
    expect(messagesOf(await world.events(id))[0].activated_skills).toEqual(['release'])
    expect(existsSync(world.file('work/pack'))).toBe(false)
    expect(await readFile(world.file('work/begun.txt'), 'utf8')).toBe('began\n')
    expect(git.requests.every(({ path }) => !path.includes(git.password))).toBe(true)
    const asked = git.requests.length
    await world.restart()
    await world.tell(id, '/tools:check')
    expect(messagesOf(await world.events(id)).at(-1).activated_skills).toEqual(['tools:check'])
    const { body: fork } = await world.call('POST', `/api/conversations/${id}/fork`, {})
    await world.tell(fork.id, 'go on')
    expect(git.requests).toHaveLength(asked)
    const { text } = await world.call('GET', `/api/conversations/${id}/events/search?limit=100`)
    expect(text).not.toContain(git.password)
  })

  test('a missing repository of a plugin fails the start with a reason, and a repeated start succeeds once it exists', async () => {
    await using git = await startGitServer()
    await using world = await openWorld({ PARLEY_GIT_HOSTS: JSON.stringify({ github: git.url }) })
    const { body } = await world.begin('work', { plugins: [{ source: 'github:acme/pack' }] })
    await world.until(body.id, 'error')
    const [error] = ofKind(await world.events(body.id), 'ConversationErrorEvent')
    expect([error.code, error.detail]).toEqual(['GIT$REPOSITORY_NOT_FOUND', expect.stringContaining('acme/pack')])
    await git.add('acme/pack', { files: disabled(PLUGIN) })
    const again = await world.call('POST', `/api/conversations/${body.id}/start`, {})
    expect(again.status, again.text).toBeLessThan(300)
    await world.until(body.id, 'idle', 'finished')
    await world.tell(body.id, 'a release')
    expect(messagesOf(await world.events(body.id))[0].activated_skills).toEqual(['release'])
  })
})

test('a server that is killed while it fetches a plugin completes the start after its restart', async () => {
  await using git = await startGitServer()
  await git.add('acme/pack', { files: disabled(PLUGIN) })
  git.mode = 'silent'
  await using dir = await tempDir()
  await using model = await startScriptedModel({ respond: obey })
  const env = { PARLEY_GIT_HOSTS: JSON.stringify({ github: git.url }), HOME: dir.path }
  const first = await startServerProcess({ dataDir: dir.file('data'), env })
  const { body } = await first.call('POST', '/api/conversations', {
    workspace: { working_dir: dir.file('work') },
    agent: { kind: 'Agent', llm: llmOf(model), tools: [] },
    initial_message: message('a release'),
    plugins: [{ source: 'github:acme/pack' }],
    autotitle: false,
  })
  await until(() => Promise.resolve(git.requests.length > 0))
  await first.kill()
  git.mode = 'open'
  await using second = await startServerProcess({ dataDir: dir.file('data'), env })
  const at = conversation(second, body.id)
  await at.is('finished')
  expect(messagesOf(await at.events()).map(({ activated_skills }) => activated_skills)).toEqual([['release']])
  const left = await readdir(dir.file('data', 'plugins'))
  expect(left.filter((name) => !name.startsWith('.parley-fetch-'))).toHaveLength(1)
})

const bubblewrap = await findBubblewrap()
test.skipIf('reason' in bubblewrap)('sandboxed commands find the folder of a plugin, in a fork too', async () => {
  await using git = await startGitServer()
  await git.add('acme/pack', { files: disabled(PLUGIN) })
  await using world = await openWorld({
    PARLEY_GIT_HOSTS: JSON.stringify({ github: git.url }),
    PARLEY_SANDBOX: 'required',
    PARLEY_SANDBOX_NETWORK: 'true',
  })
  const ask = 'call invoke_skill {"name":"release"}'
  const id = await world.talk('work', ask, { plugins: [{ source: 'github:acme/pack' }] })
  expect(await readFile(world.file('work/begun.txt'), 'utf8')).toBe('began\n')
  const { body: fork } = await world.call('POST', `/api/conversations/${id}/fork`, {})
  for (const which of [id, fork.id]) {
    await world.tell(which, ask)
    const { observation } = ofKind(await world.events(which), 'ObservationEvent').at(-1)
    const [, folder] = /\[The folder of the skill release is (\S+)\.\]/.exec(observation.content[0].text)!
    await world.tell(which, `call terminal ${JSON.stringify({ command: `cat ${folder}/SKILL.md` })}`)
    const shown = ofKind(await world.events(which), 'ObservationEvent').at(-1).observation.content[0].text
    expect(shown).toContain('Tag of the plugin.')
  }
})

test('a plugin folder that is missing or contains no plugin fails the start with a reason', async () => {
  await using world = await openWorld()
  await world.put({ 'empty/x.txt': '' })
  for (const [source, why] of [
    ['../empty', 'is no plugin'],
    ['../absent', 'there is no folder'],
  ] as const) {
    const { body } = await world.begin('work', { plugins: [{ source }] })
    await world.until(body.id, 'error')
    const [error] = ofKind(await world.events(body.id), 'ConversationErrorEvent')
    expect([error.code, error.detail]).toEqual(['PLUGIN$UNUSABLE', expect.stringContaining(why)])
  }
})

test('a link out of a plugin is not followed', async () => {
  await using world = await openWorld()
  await world.put({ 'secret/SKILL.md': 'secret', ...placed('tools', disabled(PLUGIN)) })
  await symlink(world.file('secret'), world.file('tools/skills/secret'))
  const id = await world.talk('work', 'hello', { plugins: [{ source: world.file('tools') }] })
  const { body } = await world.call('GET', `/api/conversations/${id}?include_skills=true`)
  const names = body.agent.agent_context.skills.map(({ name }: { name: string }) => name)
  expect(names.toSorted()).toEqual(['release', 'tools:check'])
  await rm(world.file('tools'), { recursive: true })
})

test('a plugin source that cannot be fetched or contains a credential is refused before anything is stored', async () => {
  await using world = await openWorld()
  for (const source of ['https://user:hunter2@git.example.org/a/b', 'git@git.example.org:a/b', '']) {
    const { status, text } = await world.begin('work', { plugins: [{ source }] })
    expect(status).toBe(422)
    expect(text).toContain('plugins.0.source')
    expect(text).not.toContain('hunter2')
  }
  expect((await world.call('GET', '/api/conversations/count')).body).toBe(0)
})
