/** Workspaces of deleted conversations: docs/operations.md, Workspaces of deleted conversations. */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startGitServer, type GitServer } from '../../packages/server/testing/git-server.ts'
import { type Loose, type Serving, serve } from '../../packages/server/testing/multi-user-server.ts'
import { startScriptedModel, type ScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { startServerProcess } from '../../packages/server/testing/server-process.ts'
import { tempDir, type TempDir } from '../../packages/server/testing/temp.ts'
import { git } from '../../packages/server/testing/two-user-server.ts'
import { until } from '../../packages/server/testing/until.ts'

let dir: TempDir
let model: ScriptedModel
let hosting: GitServer
let serving: Serving
beforeAll(async () => {
  dir = await tempDir()
  model = await startScriptedModel({ answers: [] })
  hosting = await startGitServer()
  await hosting.add('acme/shop')
  // Left by a server that was killed while it deleted a workspace.
  mkdirSync(dir.file('data', 'workspaces', '.removed', 'half', 'folder'), { recursive: true })
  writeFileSync(dir.file('data', 'workspaces', '.removed', 'half', 'folder', 'file'), '')
  serving = await serve(dir.file('data'), settings())
})
afterAll(async () => {
  for (const one of [serving, hosting, model, dir]) await one[Symbol.asyncDispose]()
})

const settings = () => ({
  PARLEY_LLM_MODEL: 'openai/scripted',
  PARLEY_LLM_API_KEY: 'k',
  PARLEY_LLM_BASE_URL: `${model.url}/v1`,
  PARLEY_GIT_HOSTS: JSON.stringify({ github: hosting.url }),
})
type Call = (method: string, path: string, body?: unknown) => Promise<Loose>
const as =
  (key: string): Call =>
  async (method, path, body) => {
    const { status, json, text } = await serving.call(method, path, body, { key })
    if (status >= 400) throw new Error(`${method} ${path}: ${status} ${text}`)
    return json
  }
const ann: Call = (...asked) => as(serving.keys.ann)(...asked)
const bob: Call = (...asked) => as(serving.keys.bob)(...asked)

/** A started conversation, and its working directory. */
async function begin(body: object = {}, call = ann): Promise<{ id: string; at: string }> {
  const made = await call('POST', '/api/conversations', body)
  const id = made.conversation_id ?? made.id
  await until(async () => (await call('GET', `/api/conversations/${id}/status`)).status !== 'STARTING', 60_000)
  return { id, at: (await call('GET', `/api/conversations/${id}`)).workspace.working_dir }
}
const beginIn = (working_dir: string, call = ann, more: object = {}) => {
  const llm = { model: 'openai/scripted', base_url: `${model.url}/v1` }
  return begin({ workspace: { working_dir }, agent: { kind: 'Agent', llm, tools: [] }, ...more }, call)
}
const remove = async (id: string, query = '', call = ann) => {
  const { success, workspace } = await call('DELETE', `/api/conversations/${id}${query}`)
  expect(success).toBe(true)
  return workspace
}
const kept = (path: string, reason: string) => ({ path, outcome: 'kept', reason, detail: expect.any(String) })
const removed = (path: string) => ({ path, outcome: 'removed', reason: null, detail: null })

test('an empty workspace that the server has created is removed with its conversation', async () => {
  const { id, at } = await begin()
  expect([at, existsSync(at)]).toEqual([dir.file('data', 'workspaces', id), true])
  expect(await remove(id)).toEqual(removed(at))
  expect(existsSync(at)).toBe(false)
})

test('a workspace with files is kept, and the request can say otherwise', async () => {
  const { id, at } = await begin()
  writeFileSync(join(at, 'notes'), 'mine')
  expect(await remove(id)).toEqual({ ...kept(at, 'uncommitted'), detail: 'notes is in no repository' })
  expect(readFileSync(join(at, 'notes'), 'utf8')).toBe('mine')
  // The server has created it, so a later conversation there can be deleted with it.
  const later = await beginIn(at)
  expect(await remove(later.id, '?workspace=delete')).toEqual(removed(at))
  expect(existsSync(at)).toBe(false)
})

test('workspace=keep keeps an empty workspace, and another word returns 422', async () => {
  const { id, at } = await begin()
  const answer = await serving.call('DELETE', `/api/conversations/${id}?workspace=no`, undefined, {
    key: serving.keys.ann,
  })
  expect([answer.status, answer.json.detail[0].loc]).toEqual([422, ['query', 'workspace']])
  expect(await remove(id, '?workspace=keep')).toEqual(kept(at, 'requested'))
  expect(existsSync(at)).toBe(true)
})

test('a workspace stays until the last conversation that names it, or a folder in it, is deleted', async () => {
  const { id, at } = await begin()
  const [same, inside] = [await beginIn(at), await beginIn(join(at, 'inside'))]
  expect(await remove(id, '?workspace=delete')).toEqual(kept(at, 'shared'))
  expect(await remove(same.id, '?workspace=delete')).toEqual(kept(at, 'shared'))
  expect(existsSync(join(at, 'inside'))).toBe(true)
  expect(await remove(inside.id)).toEqual(removed(at))
  expect(existsSync(at)).toBe(false)
})

test('the files of a fork stay when its source is deleted, and are removed with the last of both', async () => {
  const { id, at } = await begin()
  const fork = await ann('POST', `/api/conversations/${id}/fork`, {})
  const forked = fork.workspace.working_dir
  await remove(id)
  expect(existsSync(forked)).toBe(true)
  expect(await remove(fork.id)).toEqual(removed(forked))
  expect([existsSync(at), existsSync(forked)]).toEqual([false, false])
})

test('conversations of one workspace that are deleted together remove it once', async () => {
  const { id, at } = await begin()
  const same = await beginIn(at)
  const outcomes = await Promise.all([id, same.id].map((each) => remove(each)))
  expect(outcomes).toContainEqual(removed(at))
  expect(existsSync(at)).toBe(false)
})

test('a workspace cannot be named by a conversation of another user, neither while it is used nor when it was kept', async () => {
  const { id, at } = await begin()
  writeFileSync(join(at, 'notes'), '')
  await expect(beginIn(at, bob)).rejects.toThrow('"body","workspace","working_dir"')
  expect(await remove(id, '?workspace=keep')).toEqual(kept(at, 'requested'))
  await expect(beginIn(at, bob)).rejects.toThrow('is in the data directory')
  const again = await beginIn(at)
  expect(await remove(again.id, '?workspace=delete')).toMatchObject({ outcome: 'removed' })
  expect(existsSync(at)).toBe(false)
})

test('a directory that the request has named is never removed, whatever the request says', async () => {
  const at = dir.file('named')
  const { id } = await beginIn(at)
  expect(await remove(id, '?workspace=delete')).toEqual(kept(at, 'not_made'))
  expect(existsSync(at)).toBe(true)
})

test('a symlink or another directory in the place of a workspace is not removed', async () => {
  const outside = dir.file('outside')
  mkdirSync(outside)
  writeFileSync(join(outside, 'precious'), '')
  const replace: ((at: string) => void)[] = [(at) => symlinkSync(outside, at), (at) => mkdirSync(at)]
  for (const each of replace) {
    const { id, at } = await begin()
    renameSync(at, `${at}.moved`)
    each(at)
    expect(await remove(id, '?workspace=delete')).toEqual(kept(at, 'not_made'))
    expect(existsSync(at)).toBe(true)
  }
  expect(readdirSync(outside)).toEqual(['precious'])
})

test('a clone without unsaved work is removed, and one with a commit that is not pushed is kept', async () => {
  const [clean, busy] = [await begin({ repository: 'acme/shop' }), await begin({ repository: 'acme/shop' })]
  expect(basename(clean.at)).toBe('shop')
  const rootOf = ({ id }: { id: string }) => dir.file('data', 'workspaces', id)
  expect(await remove(clean.id)).toEqual(removed(rootOf(clean)))
  expect(existsSync(rootOf(clean))).toBe(false)
  await git(busy.at, 'commit', '-q', '--allow-empty', '-m', 'mine')
  expect(await remove(busy.id)).toEqual(kept(rootOf(busy), 'unpushed'))
  expect(await git(busy.at, 'log', '-1', '--format=%s')).toBe('mine')
})

test('a worktree is removed from its repository, which keeps the branch, and stays while it has changes', async () => {
  const source = dir.file('source')
  mkdirSync(source)
  await git(source, 'init', '-q')
  await git(source, 'commit', '-q', '--allow-empty', '-m', 'first')
  const [clean, busy] = [await beginIn(source, ann, { worktree: true }), await beginIn(source, ann, { worktree: true })]
  writeFileSync(join(busy.at, 'notes'), '')
  expect(await remove(clean.id)).toEqual(removed(clean.at))
  expect(existsSync(dir.file('data', 'worktrees', clean.id))).toBe(false)
  expect(await remove(busy.id)).toEqual(kept(busy.at, 'uncommitted'))
  const listed = await git(source, 'worktree', 'list', '--porcelain')
  expect(listed).not.toContain(clean.id)
  expect(listed).toContain(`worktree ${busy.at}`)
  expect(await git(source, 'branch', '--list', '--format=%(refname:short)', 'openhands/*')).toContain(clean.id)
})

test('what a killed server left of a removed workspace is deleted at the next start', async () => {
  await until(() => readdirSync(dir.file('data', 'workspaces', '.removed')).length === 0)
})

test.each([
  ['', 'notes', true],
  ['?workspace=delete', 'notes', false],
  ['', null, false],
])(
  'a kill after the commit of DELETE%s with the file %s: the next start decides as the request said',
  async (query, file, stays) => {
    await using own = await tempDir()
    const dataDir = own.file('data')
    await using first = await startServerProcess({ dataDir, env: settings(), crash: { at: 'delete', when: 'after' } })
    const { conversation_id: id } = (await first.call('POST', '/api/conversations', {})).body
    await until(async () => (await first.call('GET', `/api/conversations/${id}/status`)).body.status === 'RUNNING')
    const at = own.file('data', 'workspaces', id)
    if (file !== null) writeFileSync(join(at, file), '')
    await first.call('DELETE', `/api/conversations/${id}${query}`).catch(() => undefined)
    await first.exited
    expect(existsSync(at)).toBe(true)

    await using second = await startServerProcess({ dataDir, env: settings() })
    // The id is free as soon as everything of the conversation is settled.
    await until(async () => {
      const again = await second.call('POST', '/api/conversations', {
        conversation_id: id,
        workspace: { working_dir: own.file('elsewhere') },
        agent: { kind: 'Agent', llm: { model: 'openai/scripted' }, tools: [] },
      })
      return again.status === 201
    })
    expect(existsSync(at)).toBe(stays)
  },
)
