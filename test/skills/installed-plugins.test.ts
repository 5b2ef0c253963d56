import { mkdirSync, realpathSync, symlinkSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { startGitServer } from '../../packages/server/testing/git-server.ts'
import { messagesOf, openWorld, type World } from '../../packages/server/testing/skill-conversations.ts'
import { startBench } from '../../packages/server/testing/two-user-server.ts'

const skill = (text: string) => `---\ndescription: Of the plugin\ntriggers: [release]\n---\n${text}`
const PLUGIN = {
  '.claude-plugin/plugin.json': JSON.stringify({ name: 'tools', version: '1.2.3', description: 'For releases.' }),
  'skills/release/SKILL.md': skill('Tag it.'),
}
const placed = (folder: string, files: Record<string, string> = PLUGIN) =>
  Object.fromEntries(Object.entries(files).map(([path, text]) => [`${folder}/${path}`, text]))
const install = (world: Pick<World, 'call'>, body: object) => world.call('POST', '/api/plugins/install', body)
const INSTALLED = '/api/plugins/installed'

test('an installed plugin is part of every later conversation until it is disabled or removed', async () => {
  await using world = await openWorld()
  await world.put(placed('tools'))
  const { status, body } = await install(world, { source: world.file('tools') })
  const path = realpathSync(world.file('tools'))
  expect({ status, body }).toEqual({
    status: 200,
    body: {
      name: 'tools',
      version: '1.2.3',
      description: 'For releases.',
      enabled: true,
      source: path,
      resolved_ref: null,
      repo_path: null,
      installed_at: expect.stringMatching(/Z$/),
      install_path: path,
      skills: [{ name: 'release', description: 'Of the plugin' }],
      files: ['.claude-plugin/plugin.json', 'skills/release/SKILL.md'],
    },
  })
  const activated = async () =>
    messagesOf(await world.events(await world.talk('work', 'a release')))[0].activated_skills
  expect(await activated()).toEqual(['release'])
  expect((await world.call('PATCH', `${INSTALLED}/tools`, { enabled: false })).body).toEqual({
    name: 'tools',
    enabled: false,
  })
  expect((await world.call('POST', '/api/plugins', {})).body).toEqual({ plugins: [] })
  expect(await activated()).toEqual([])
  await world.call('PATCH', `${INSTALLED}/tools`, { enabled: true })
  expect(await activated()).toEqual(['release'])
  expect((await world.call('DELETE', `${INSTALLED}/tools`)).status).toBe(200)
  expect(await activated()).toEqual([])
})

test('conversations get the commit of the installation until the plugin is refreshed', async () => {
  await using git = await startGitServer()
  await git.add('acme/pack', { files: PLUGIN })
  const run = async (...args: string[]) => (await git.git('acme/pack', ...args)).trim()
  await using world = await openWorld({ PARLEY_GIT_HOSTS: JSON.stringify({ github: git.url }) })
  const first = await install(world, { source: 'github:acme/pack' })
  expect(first.body).toMatchObject({ name: 'tools', resolved_ref: await run('rev-parse', 'main') })
  const tree = await run('rev-parse', 'main^{tree}')
  const next = await run('commit-tree', '-m', 'Next', '-p', 'main', tree)
  await run('update-ref', 'refs/heads/main', next)
  await run('config', 'uploadpack.allowAnySHA1InWant', 'true')
  const attached = async () => {
    const id = await world.talk('work', 'a release')
    return messagesOf(await world.events(id))[0].activated_skills
  }
  expect(await attached()).toEqual(['release'])
  expect((await world.call('GET', `${INSTALLED}/tools`)).body.resolved_ref).toBe(first.body.resolved_ref)
  const refreshed = await world.call('POST', `${INSTALLED}/tools/refresh`)
  expect(refreshed.body).toMatchObject({ plugin: { name: 'tools', resolved_ref: next } })
})

test('an installed plugin whose source is gone is left out of conversations', async () => {
  await using world = await openWorld()
  await world.put(placed('tools'))
  await install(world, { source: world.file('tools') })
  await rm(world.file('tools'), { recursive: true })
  const id = await world.talk('work', 'a release')
  const log = await world.wholeLog(id)
  const phase = log.find(({ value }) => value?.phase === 'skills' && value.status === 'done')
  expect(phase.value.detail).toContain('installed plugin')
  expect(messagesOf(await world.events(id))[0].activated_skills).toEqual([])
})

test('a source that is never fetched, or is no plugin, is refused with the reason', async () => {
  await using world = await openWorld()
  await world.put({ 'plain/notes.txt': 'no plugin' })
  const refused: [body: object, status: number][] = [
    [{ source: 'ext::sh -c true' }, 422],
    [{ source: 'file:///etc' }, 422],
    [{ source: 'git@host.example:a/b' }, 422],
    [{ source: 'https://user:word@git.example/a/b' }, 422],
    [{ source: world.file('plain'), repo_path: '../tools' }, 422],
    [{ source: world.file('plain'), ref: 'main' }, 422],
    [{ source: 'github:acme/pack', ref: '--upload-pack=x' }, 422],
    [{ source: world.file('plain') }, 400],
    [{ source: world.file('none') }, 400],
  ]
  for (const [body, status] of refused) expect([body, (await install(world, body)).status]).toEqual([body, status])
  expect((await world.call('GET', INSTALLED)).body).toEqual({ plugins: [] })
})

test('the same name is installed again with force alone', async () => {
  await using world = await openWorld()
  await world.put(placed('tools'))
  await install(world, { source: world.file('tools') })
  expect((await install(world, { source: world.file('tools') })).status).toBe(409)
  expect((await install(world, { source: world.file('tools'), force: true })).status).toBe(200)
})

test('installed plugins belong to one user, and come from no folder that another user alone may read', async () => {
  await using server = await startBench()
  const theirs = server.dir.file('data', 'users', 'default', 'tools')
  mkdirSync(`${theirs}/skills`, { recursive: true })
  const link = server.dir.file('link')
  symlinkSync(theirs, link)
  for (const source of [theirs, link]) {
    const { status } = await server.call('POST', '/api/plugins/install', { source }, server.bob)
    expect(status).toBe(422)
  }
  expect((await server.call('GET', `${INSTALLED}/tools`, undefined, server.bob)).status).toBe(404)
  expect((await server.call('POST', '/api/plugins/install', { source: link }, server.reader)).status).toBe(403)
})
