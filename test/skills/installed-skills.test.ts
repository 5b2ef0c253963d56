import { mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { startGitServer } from '../../packages/server/testing/git-server.ts'
import { messagesOf, openWorld } from '../../packages/server/testing/skill-conversations.ts'
import { startBench } from '../../packages/server/testing/two-user-server.ts'

const INSTALLED = '/api/skills/installed'
const SKILL = '---\nname: release\ndescription: How releases are made\ntriggers: [release]\n---\nTag it.'

test('an installed skill is part of every later conversation until it is disabled', async () => {
  await using world = await openWorld()
  await world.put({ 'mine/SKILL.md': SKILL, 'mine/scripts/tag.sh': 'git tag' })
  const { status, body } = await world.call('POST', '/api/skills/install', { source: world.file('mine') })
  const path = realpathSync(world.file('mine'))
  expect({ status, body }).toEqual({
    status: 200,
    body: {
      name: 'release',
      version: '1.0.0',
      description: 'How releases are made',
      enabled: true,
      source: path,
      resolved_ref: null,
      repo_path: null,
      installed_at: expect.stringMatching(/Z$/),
      install_path: path,
    },
  })
  const first = messagesOf(await world.events(await world.talk('work', 'a release')))[0]
  expect(first.activated_skills).toEqual(['release'])
  expect(first.extended_content[0].text).toContain('Tag it.')
  await world.call('PATCH', `${INSTALLED}/release`, { enabled: false })
  const later = messagesOf(await world.events(await world.talk('work', 'a release')))[0]
  expect(later.activated_skills).toEqual([])
  // A plugin of that name is something else.
  expect((await world.call('GET', '/api/plugins/installed')).body).toEqual({ plugins: [] })
})

test('a skill of a repository is installed from its folder, at the present commit', async () => {
  await using git = await startGitServer()
  await git.add('acme/skills', { files: { 'all/release/SKILL.md': SKILL } })
  await using world = await openWorld({ PARLEY_GIT_HOSTS: JSON.stringify({ github: git.url }) })
  const body = { source: 'github:acme/skills', ref: 'main', repo_path: 'all/release' }
  const installed = await world.call('POST', '/api/skills/install', body)
  const commit = (await git.git('acme/skills', 'rev-parse', 'main')).trim()
  expect(installed.body).toMatchObject({ name: 'release', resolved_ref: commit, repo_path: 'all/release' })
  const id = await world.talk('work', 'a release')
  expect(messagesOf(await world.events(id))[0].activated_skills).toEqual(['release'])
  const refreshed = await world.call('POST', `${INSTALLED}/release/refresh`)
  expect(refreshed.body).toMatchObject({ skill: { name: 'release', resolved_ref: commit } })
})

test('a folder without a skill, and one whose name is no name of a skill, are refused', async () => {
  await using world = await openWorld()
  await world.put({ 'none/README.md': 'x', 'odd/SKILL.md': '---\nname: ../odd\n---\nx' })
  for (const folder of ['none', 'odd']) {
    const { status } = await world.call('POST', '/api/skills/install', { source: world.file(folder) })
    expect(status).toBe(400)
  }
  expect((await world.call('GET', INSTALLED)).body).toEqual({ skills: [] })
})

test('installed skills belong to one user', async () => {
  await using server = await startBench()
  mkdirSync(server.dir.file('mine'))
  writeFileSync(server.dir.file('mine', 'SKILL.md'), SKILL)
  expect((await server.call('POST', '/api/skills/install', { source: server.dir.file('mine') })).status).toBe(200)
  for (const [method, path, body] of [
    ['GET', `${INSTALLED}/release`, undefined],
    ['PATCH', `${INSTALLED}/release`, { enabled: false }],
    ['POST', `${INSTALLED}/release/refresh`, undefined],
    ['DELETE', `${INSTALLED}/release`, undefined],
  ] as const)
    expect((await server.call(method, path, body, server.bob)).status).toBe(404)
  expect((await server.call('GET', `${INSTALLED}/release`)).body).toMatchObject({ enabled: true })
})
