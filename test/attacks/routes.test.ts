/**
 * Every served route under the key of another user: with the ids and names of one user's things, and with every path that leads to them.
 * The list comes from the server, so a new route without an entry fails.
 */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bodyFor, filled, routesOf, type ServedRoute } from '../conversation-service/routes.ts'
import { ANNS, closedDirectories, closedFiles, openAttackBench, type AttackBench } from './bench.ts'

let bench: AttackBench
let routes: ServedRoute[]
/** Parameters of paths that name ann's things. */
let ids: Readonly<Record<string, string>>
beforeAll(async () => {
  bench = await openAttackBench()
  routes = await routesOf(bench.serving)
  ids = await plant()
})
afterAll(() => bench[Symbol.asyncDispose]())

/** Stores a thing of every kind for ann, each with her text in it. */
async function plant(): Promise<typeof ids> {
  const store = async (method: string, path: string, body?: unknown) => {
    const { status, text, json } = await bench.as('ann', method, path, body)
    expect([path, status < 300, text.slice(0, 300)]).toEqual([path, true, expect.anything()])
    return json
  }
  const llm = { model: `openai/${ANNS}`, api_key: 'a-key-of-the-model' }
  const message = { content: [{ type: 'text', text: ANNS }] }
  await store('POST', `/api/conversations/${bench.conversation}/events`, message)
  await store('PATCH', '/api/settings', { agent_settings_diff: { llm }, misc_settings_diff: { ANNS } })
  const secret = await store('POST', '/api/secrets', { name: 'anns', value: 'a secret of ann', description: ANNS })
  await store('POST', '/api/settings/mcp/anns', { command: ANNS })
  await store('POST', '/api/profiles/anns', { llm })
  await store('POST', '/api/agent-profiles/anns', { llm_profile_ref: 'anns', disabled_skills: [ANNS] })
  const connection = { display_name: ANNS, api_key: 'another key of the model' }
  const { profiles } = await store('GET', '/api/agent-profiles')
  const profile_id = profiles.find((profile: { name: string }) => profile.name === 'anns').id
  const { id: connection_id } = await store('POST', '/api/llm/provider-connections', connection)
  const cwd = bench.data('users', 'ann')
  const { session } = await store('POST', '/api/auth/sessions', { label: ANNS })
  const { command_id } = await store('POST', '/api/bash/execute_bash_command', { command: `echo ${ANNS}`, cwd })
  const saved = { id: SAVED, name: ANNS, path: SAVED }
  await store('POST', '/api/workspaces', { workspaces: [saved] })
  await store('POST', '/api/workspaces/parents', { parents: [saved] })
  for (const kind of KINDS) await store('POST', `/api/${kind}s/install`, { source: folderOf('ann', kind, ANNS) })
  return {
    conversation_id: bench.conversation,
    event_id: command_id,
    file_path: 'secret.txt',
    secret_id: secret.id,
    settings_key: 'anns',
    name: 'anns',
    profile_id,
    connection_id,
    session_id: session.id,
    plugin_name: 'anns',
    skill_name: 'anns',
  }
}

/** Path of ann's saved workspace, and of her saved parent. */
const SAVED = '/saved'
const KINDS = ['plugin', 'skill'] as const

/** Writes a plugin or a skill with the name `anns` into the user's own folder, and returns its path. */
function folderOf(user: 'ann' | 'bob', kind: (typeof KINDS)[number], description: string): string {
  const folder = bench.data('users', user, `${kind}-source`, 'anns')
  const [file, text] =
    kind === 'skill'
      ? ['SKILL.md', `---\nname: anns\ndescription: ${description}\n---\n${description}`]
      : [join('.claude-plugin', 'plugin.json'), JSON.stringify({ name: 'anns', version: '1.0.0', description })]
  mkdirSync(join(folder, file, '..'), { recursive: true })
  writeFileSync(join(folder, file), text)
  return folder
}

/** A request with a path: its query, or its body. `files`: the path is that of a file. */
type PathAttack = { query?: string; body?: (path: string) => unknown; files?: true }

const agent = { kind: 'Agent', llm: { model: 'scripted/none' }, tools: [] }
const command = (cwd: string) => ({ command: 'cat *; ls', cwd })
const project = (project_dir: string) => ({ project_dir })
/** Sources of an installation: a folder, the repository in it, and a helper program of git. */
const sources: readonly PathAttack[] = [
  { body: (source) => ({ source, force: true }) },
  { body: (path) => ({ source: `file://${path}` }) },
  { body: (path) => ({ source: `ext::cat ${path}` }) },
]

/** Members of requests that hold paths of the machine. All are refused with 422. */
const PATHS: Readonly<Record<string, readonly PathAttack[]>> = {
  'POST /api/conversations': [
    { body: (working_dir) => ({ agent, workspace: { working_dir } }) },
    { body: (working_dir) => ({ agent, workspace: { working_dir }, worktree: true }) },
    { body: (source) => ({ agent, workspace: { working_dir: bench.dir('bob') }, plugins: [{ source }] }) },
    {
      body: (path) => ({
        agent,
        workspace: { working_dir: bench.dir('bob') },
        plugins: [{ source: `file://${path}` }],
      }),
    },
    { body: (repository) => ({ repository }) },
    { body: (path) => ({ repository: `file://${path}` }) },
    { body: (path) => ({ repository: `ext::cat ${path}` }) },
  ],
  'POST /api/hooks': [{ body: project }],
  'POST /api/skills': [{ body: project }],
  'POST /api/sub-agents': [{ body: project }],
  'POST /api/plugins/install': sources,
  'POST /api/skills/install': sources,
  'POST /api/mcp/test': [{ body: (cwd) => ({ server: { type: 'stdio', command: 'true', cwd } }) }],
  'POST /api/bash/start_bash_command': [{ body: command }],
  'POST /api/bash/execute_bash_command': [{ body: command }],
  'GET /api/git/changes': [{ query: 'path' }],
  'GET /api/git/commits': [{ query: 'path' }],
  'GET /api/git/commits/{sha}/changes': [{ query: 'path' }],
  'GET /api/file/download': [{ query: 'path', files: true }],
  'POST /api/file/create_directory': [{ query: 'path' }],
  'GET /api/file/archive': [{ query: 'path' }],
}

/** Routes for files and directories whose refusals differ from path to path: `machine.test.ts` attacks them. */
const ELSEWHERE: ReadonlySet<string> = new Set([
  'GET /api/git/diff',
  'GET /api/git/patch',
  'POST /api/file/upload',
  'GET /api/file/search_subdirs',
])

/** Routes whose things belong to one user: the key of another one neither shows nor changes them. */
const OWN: ReadonlySet<string> = new Set([
  'GET /api/conversations',
  'GET /api/conversations/search',
  'GET /api/conversations/count',
  'GET /v1/models',
  'POST /v1/chat/completions',
  'POST /api/settings',
  'GET /api/settings',
  'PATCH /api/settings',
  'POST /api/settings/mcp/{settings_key}',
  'PATCH /api/settings/mcp/{settings_key}',
  'DELETE /api/settings/mcp/{settings_key}',
  'GET /api/secrets',
  'POST /api/secrets',
  'PUT /api/secrets/{secret_id}',
  'DELETE /api/secrets/{secret_id}',
  'GET /api/settings/secrets',
  'PUT /api/settings/secrets',
  'GET /api/settings/secrets/{name}',
  'DELETE /api/settings/secrets/{name}',
  'POST /api/v1/webhooks/conversations',
  'GET /api/bash/bash_events/search',
  'GET /api/bash/bash_events/',
  'GET /api/bash/bash_events/{event_id}',
  'DELETE /api/bash/bash_events',
  'GET /api/file/home',
  'GET /api/quotas',
  'GET /api/approvals',
  'GET /api/acp/servers',
  'POST /api/demo',
  'DELETE /api/demo',
  'GET /api/me',
  'GET /api/auth/sessions',
  'DELETE /api/auth/sessions/current',
  'DELETE /api/auth/sessions/{session_id}',
  'POST /api/auth/codes',
  'POST /api/auth/workspace-session',
  'DELETE /api/auth/workspace-session',
  'GET /api/llm/provider-connections',
  'POST /api/llm/provider-connections',
  'PATCH /api/llm/provider-connections/{connection_id}',
  'DELETE /api/llm/provider-connections/{connection_id}',
  'GET /api/profiles',
  'GET /api/profiles/{name}',
  'POST /api/profiles/{name}',
  'DELETE /api/profiles/{name}',
  'POST /api/profiles/{name}/validate',
  'POST /api/profiles/{name}/rename',
  'POST /api/profiles/{name}/activate',
  'GET /api/agent-profiles',
  'GET /api/agent-profiles/{name}',
  'POST /api/agent-profiles/{name}',
  'DELETE /api/agent-profiles/{name}',
  'POST /api/agent-profiles/{name}/rename',
  'POST /api/agent-profiles/{profile_id}/activate',
  'POST /api/agent-profiles/{name}/materialize',
  'GET /api/workspaces',
  'POST /api/workspaces',
  'DELETE /api/workspaces',
  'POST /api/workspaces/parents',
  'DELETE /api/workspaces/parents',
  'POST /api/plugins',
  'GET /api/plugins/installed',
  'GET /api/plugins/installed/{plugin_name}',
  'PATCH /api/plugins/installed/{plugin_name}',
  'DELETE /api/plugins/installed/{plugin_name}',
  'POST /api/plugins/installed/{plugin_name}/refresh',
  'GET /api/skills/installed',
  'GET /api/skills/installed/{skill_name}',
  'PATCH /api/skills/installed/{skill_name}',
  'DELETE /api/skills/installed/{skill_name}',
  'POST /api/skills/installed/{skill_name}/refresh',
])

/** Routes of administrators: 403 for every other key. */
const ADMINS: ReadonlySet<string> = new Set([
  'GET /api/webhooks/deliveries',
  'POST /api/webhooks/deliveries/{delivery_id}/redeliver',
  'GET /api/keys',
  'POST /api/keys',
  'POST /api/keys/{key_id}/rotate',
  'DELETE /api/keys/{key_id}',
  'GET /api/users',
  'POST /api/users/{user}/disable',
  'POST /api/users/{user}/enable',
  'DELETE /api/users/{user}',
  'GET /api/audit',
  'GET /api/quotas/users',
  'GET /metrics',
  'GET /api/fleet',
])

/** Routes whose answers are the same for all users. */
const FOR_ALL: ReadonlySet<string> = new Set([
  'GET /api/settings/agent-schema',
  'GET /api/settings/conversation-schema',
  'GET /api/tools/',
  'GET /api/llm/providers',
  'GET /api/llm/models',
  'GET /api/llm/models/verified',
  'POST /api/conversations/prepare-for-sandbox-pause',
  'GET /api/plugins/marketplace',
  'GET /api/skills/marketplace',
  'POST /api/skills/sync',
  'POST /api/mcp/oauth/start',
  'GET /api/mcp/oauth/status/{job_id}',
  'POST /api/mcp/oauth/callback/{job_id}',
  'GET /api/vscode/status',
  'GET /api/vscode/url',
  'GET /api/desktop/url',
  'GET /api/llm/subscription/openai/models',
  'GET /api/llm/subscription/openai/status',
  'POST /api/llm/subscription/openai/device/start',
  'POST /api/llm/subscription/openai/device/poll',
  'POST /api/llm/subscription/openai/logout',
])

/** The query of a route whose things are not named by its path. */
const QUERIES: Readonly<Record<string, string>> = {
  'DELETE /api/workspaces': `?path=${SAVED}`,
  'DELETE /api/workspaces/parents': `?path=${SAVED}`,
}

const nameOf = ({ method, path }: ServedRoute): string => `${method} ${path}`
const namesConversation = ({ names }: ServedRoute): boolean => names.includes('conversation_id')
const LISTED: ReadonlySet<string> = new Set([...Object.keys(PATHS), ...ELSEWHERE, ...OWN, ...ADMINS, ...FOR_ALL])

test('every served route has an attack, or a reason to need none, and every entry is served', () => {
  const needed = routes.filter((route) => !route.isOpen && !namesConversation(route))
  expect(needed.map(nameOf).filter((name) => !LISTED.has(name))).toEqual([])
  const served = new Set(routes.map(nameOf))
  expect([...LISTED].filter((name) => !served.has(name))).toEqual([])
})

test('the path of a stranger is refused with its place by every route that takes one', async () => {
  const found: unknown[] = []
  for (const [name, attacks] of Object.entries(PATHS)) {
    const [method = '', path = ''] = name.split(' ')
    for (const { query, body, files } of attacks) {
      for (const target of files === true ? closedFiles(bench) : closedDirectories(bench)) {
        const url =
          filled(path, { sha: 'abcdef' }) + (query === undefined ? '' : `?${query}=${encodeURIComponent(target)}`)
        const { status, text, json } = await bench.as('bob', method, url, body?.(target))
        const isPlaced = status === 422 && String(json.detail[0].input).endsWith(target)
        if (!isPlaced || text.replaceAll(target, '').includes(ANNS))
          found.push([name, target, status, text.slice(0, 200)])
      }
    }
  }
  expect(found).toEqual([])
}, 60_000)

describe('the ids and names of a stranger', () => {
  /** What ann reads of her things. */
  const shown = async () => {
    const texts: Record<string, string> = {}
    for (const path of [
      `/api/conversations/${bench.conversation}/events/search`,
      '/api/settings',
      '/api/secrets',
      '/api/settings/secrets',
      '/api/profiles',
      '/api/agent-profiles/anns',
      '/api/llm/provider-connections',
      '/api/bash/bash_events/search',
      '/api/auth/sessions',
      '/api/workspaces',
      '/api/plugins/installed',
      '/api/plugins/installed/anns',
      '/api/skills/installed',
    ])
      texts[path] = (await bench.as('ann', 'GET', path)).text
    return texts
  }

  test('show nothing of another user on any route, and change nothing', async () => {
    const before = await shown()
    for (const [path, text] of Object.entries(before)) expect([path, text.includes(ANNS)]).toEqual([path, true])
    const found: unknown[] = []
    const asked = routes.filter((route) => namesConversation(route) || OWN.has(nameOf(route)))
    expect(asked.length).toBeGreaterThan(80)
    for (const route of asked) {
      const name = nameOf(route)
      const target = filled(route.path, ids) + (QUERIES[name] ?? '')
      const answer = await bench.as('bob', route.method, target, bodyFor(route.method, route.path))
      if (answer.text.includes(ANNS) || answer.status >= 500)
        found.push([name, answer.status, answer.text.slice(0, 200)])
    }
    expect(found).toEqual([])
    expect(await shown()).toEqual(before)
  }, 60_000)

  test.each(KINDS)('are free for a %s that another user installs by force, and the first one stays', async (kind) => {
    const before = await shown()
    const source = folderOf('bob', kind, 'of bob')
    const installed = await bench.as('bob', 'POST', `/api/${kind}s/install`, { source, force: true })
    expect([installed.status, installed.json.name, installed.json.source]).toEqual([200, 'anns', source])
    const list = await bench.as('bob', 'GET', `/api/${kind}s/installed`)
    expect(list.json[`${kind}s`].map((each: { description: string }) => each.description)).toEqual(['of bob'])
    expect((await bench.as('bob', 'DELETE', `/api/${kind}s/installed/anns`)).status).toBe(200)
    expect(await shown()).toEqual(before)
  })

  test.each(KINDS)('lead to no %s of another user through a folder below the source, or a link', async (kind) => {
    const target = folderOf('ann', kind, ANNS)
    const bobs = bench.data('users', 'bob', `${kind}-links`)
    mkdirSync(bobs, { recursive: true })
    symlinkSync(target, join(bobs, 'folder'))
    mkdirSync(join(bobs, 'file'))
    const main = kind === 'skill' ? 'SKILL.md' : '.claude-plugin'
    symlinkSync(join(target, main), join(bobs, 'file', main))
    const found: unknown[] = []
    for (const repo_path of ['folder', `../../ann/${kind}-source/anns`, target, 'file', null]) {
      const body = { source: bobs, repo_path, force: true }
      const { status, text } = await bench.as('bob', 'POST', `/api/${kind}s/install`, body)
      if (text.replaceAll(target, '').includes(ANNS) || ![400, 422].includes(status))
        found.push([repo_path, status, text])
    }
    const list = await bench.as('bob', 'GET', `/api/${kind}s/installed`)
    if (list.text.includes(ANNS)) found.push(list.text)
    expect(found).toEqual([])
  })

  test('are refused by the routes of administrators', async () => {
    for (const name of ADMINS) {
      const [method = '', path = ''] = name.split(' ')
      const body = path === '/api/keys' && method === 'POST' ? { user: 'bob' } : bodyFor(method, path)
      const { status } = await bench.as('bob', method, filled(path, ids), body)
      expect([name, status]).toEqual([name, 403])
    }
  })
})

test('routes whose answers are the same for all users give both users one answer', async () => {
  const found: unknown[] = []
  for (const name of FOR_ALL) {
    const [method = '', path = ''] = name.split(' ')
    const ask = (who: 'ann' | 'bob') => bench.as(who, method, filled(path, {}), bodyFor(method, path))
    const [anns, bobs] = [await ask('ann'), await ask('bob')]
    if (anns.status !== bobs.status || anns.text !== bobs.text || [422, 500].includes(anns.status))
      found.push([name, anns.status, bobs.status, anns.text.slice(0, 200), bobs.text.slice(0, 200)])
  }
  expect(found).toEqual([])
})
