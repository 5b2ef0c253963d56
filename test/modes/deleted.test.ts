/** Deletion of a user with all data, also when the server is killed in the middle of it. */
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { serve, type Serving } from '../../packages/server/testing/multi-user-server.ts'
import { startServerProcess } from '../../packages/server/testing/server-process.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { git } from '../../packages/server/testing/two-user-server.ts'
import { until } from '../../packages/server/testing/until.ts'
import { rowsOfUser } from '../../packages/server/testing/chosen-store.ts'

const ENV = { PARLEY_MODE: 'shared' }
type Who = 'ann' | 'bob'
const users: readonly Who[] = ['ann', 'bob']

/** Two conversations, one of them with a worktree, and one of everything else that a user can store. Returns the ids. */
async function fill(serving: Serving, who: Who, home: string): Promise<string[]> {
  const as = (method: string, path: string, body?: unknown) =>
    serving.call(method, path, body, {
      key: serving.keys[who],
      headers: { prefer: 'wait=20', 'idempotency-key': crypto.randomUUID() },
    })
  const repository = join(home, 'shop')
  mkdirSync(repository, { recursive: true })
  await git(repository, 'init', '-q')
  writeFileSync(join(repository, 'a'), who)
  await git(repository, 'add', '.')
  await git(repository, 'commit', '-qm', 'first')
  const agent = { kind: 'Agent', llm: { model: 'openai/none' } }
  const plain = (await as('POST', '/api/conversations', {})).json.conversation_id as string
  const workspace = { working_dir: repository }
  const tree = (await as('POST', '/api/conversations', { agent, workspace, worktree: true })).json.id as string
  const report = { id: crypto.randomUUID(), workspace, agent, title: 'Elsewhere' }
  const made = await Promise.all([
    as('POST', '/api/settings', { language: 'de' }),
    as('POST', '/api/secrets', { name: `OF_${who.toUpperCase()}`, value: `secret of ${who}` }),
    as('POST', '/api/profiles/mine', { llm: { model: 'openai/none' } }),
    as('POST', '/api/v1/webhooks/conversations', report),
    as('POST', '/api/bash/execute_bash_command', { command: 'echo hello > left' }),
    as('POST', '/api/auth/sessions', {}),
    as('POST', '/api/auth/codes'),
  ])
  for (const { status, text } of made) expect([status, text]).toEqual([expect.toBeOneOf([200, 201]), text])
  return [plain, tree]
}

/** Folders of the data directory with one of the names, which belong to a user. */
const foldersNamed = (dataDir: string, names: readonly string[]): string[] =>
  ['users', 'workspaces', 'worktrees', 'conversations', 'callbacks']
    .map((folder) => join(dataDir, folder))
    .filter((folder) => existsSync(folder))
    .flatMap((folder) =>
      readdirSync(folder, { recursive: true }).flatMap((path) =>
        names.some((name) => String(path).split('/').includes(name)) ? [join(folder, String(path))] : [],
      ),
    )

test('a deleted user leaves only the audit and the ids, whatever is killed meanwhile, and other users keep everything', async () => {
  await using dir = await tempDir()
  const dataDir = dir.file('data')
  const ids: Record<Who, string[]> = { ann: [], bob: [] }
  const env = { ...ENV, PARLEY_WORKSPACE_ROOTS: dir.path }
  let keys: Serving['keys']
  {
    await using serving = await serve(dataDir, env)
    keys = serving.keys
    for (const who of users) ids[who] = await fill(serving, who, dir.file(who))
    expect(Object.keys(await rowsOfUser(dataDir, 'ann'))).toEqual(
      expect.arrayContaining([
        'bash_events',
        'conversations',
        'documents',
        'keyed_requests',
        'keys',
        'login_codes',
        'login_sessions',
        'made_workspaces',
        'received_conversations',
        'secrets',
        'settings',
        'users',
      ]),
    )
  }
  // The audit is written a moment after the answers.
  const bobs = await rowsOfUser(dataDir, 'bob')
  const foldersOfBob = foldersNamed(dataDir, ['bob', ...ids.bob])
  expect(foldersNamed(dataDir, ['ann', ...ids.ann]).length).toBeGreaterThan(3)
  {
    await using server = await startServerProcess({ dataDir, env, crash: { at: 'delete', when: 'after' } })
    await server.call('DELETE', '/api/users/ann').catch(() => undefined)
    await server.exited
  }
  expect(await rowsOfUser(dataDir, 'ann')).toMatchObject({ users: 1, conversations: 1, owed_releases: 1 })

  await using server = await startServerProcess({ dataDir, env })
  const listed = async () =>
    (await server.call('GET', '/api/users')).body.items.map(({ user }: { user: string }) => user)
  await until(async () => !(await listed()).includes('ann'))
  expect(Object.keys(await rowsOfUser(dataDir, 'ann')).toSorted()).toEqual(['audit', 'deleted_ids'])
  expect(foldersNamed(dataDir, ['ann', ...ids.ann])).toEqual([])
  expect(existsSync(join(dir.file('ann'), 'shop', 'a'))).toBe(true)
  expect(foldersNamed(dataDir, ['bob', ...ids.bob])).toEqual(foldersOfBob)
  expect(await rowsOfUser(dataDir, 'bob')).toMatchObject(bobs)
  const as = async (who: Who, method: string, path: string, body?: unknown) => {
    const headers = { 'X-Session-API-Key': keys[who], 'content-type': 'application/json' }
    const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }
    return (await fetch(server.url + path, init)).status
  }
  expect(await as('ann', 'GET', '/api/settings')).toBe(401)
  expect(await as('bob', 'GET', `/api/conversations/${ids.bob[0]}`)).toBe(200)
  expect(await as('bob', 'POST', '/api/conversations', { conversation_id: ids.ann[0] })).toBe(409)
}, 120_000)
