import { mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { afterEach, expect, test } from 'vitest'
import { type Bench, startBench } from '../../packages/server/testing/two-user-server.ts'

let server: Bench
afterEach(() => server[Symbol.asyncDispose]())

const FILE = [
  '---',
  'description: Reads changes. <example>after an edit</example>',
  'mcp_servers: { docs: { url: "https://docs.example/mcp", headers: { X-Token: plain-text } } }',
  '---',
  'You review.',
].join('\n')

/** A project with the definition `reviewer`. */
function project(): string {
  const folder = server.dir.file('project')
  mkdirSync(`${folder}/.agents/agents`, { recursive: true })
  writeFileSync(`${folder}/.agents/agents/reviewer.md`, FILE)
  return realpathSync(folder)
}

const list = async (body: object, headers = {}) => server.call('POST', '/api/sub-agents', body, headers)
const only = { load_user: false, load_builtin: false }

test('sub-agents of a project come before the built-in ones, without the servers of an untrusted project', async () => {
  server = await startBench()
  const { status, body } = await list({ project_dir: project(), load_user: false })
  expect(status).toBe(200)
  expect(body.agents[0]).toMatchObject({
    name: 'reviewer',
    description: 'Reads changes.',
    when_to_use_examples: ['after an edit'],
    system_prompt: 'You review.',
    level: 'project',
    is_builtin: false,
    mcp_servers: null,
  })
  expect(body.agents.slice(1).map(({ name }: { name: string }) => name)).toContain('general-purpose')
  expect(body.agents[1]).toMatchObject({ level: 'builtin', is_builtin: true })
})

test('sub-agents of a trusted project have its servers, with their values masked', async () => {
  server = await startBench({ PARLEY_TRUSTED_HOOKS: '*' })
  const { body } = await list({ project_dir: project(), ...only })
  expect(body.agents).toMatchObject([{ name: 'reviewer', mcp_servers: { docs: { url: 'https://docs.example/mcp' } } }])
  expect(JSON.stringify(body)).not.toContain('plain-text')
})

test('sub-agents are listed of no directory that the user may not reach', async () => {
  server = await startBench()
  const theirs = server.dir.file('data', 'users', 'default')
  mkdirSync(theirs, { recursive: true })
  const { status, body } = await list({ project_dir: theirs, ...only }, server.bob)
  expect(status).toBe(422)
  expect(body.detail[0].loc).toEqual(['body', 'project_dir'])
})
