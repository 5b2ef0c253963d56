/**
 * Every served route under the key of another user: with the ids of one user's things, and with every path that leads to them. The list
 * comes from the server, so a new route without an entry fails.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bodyFor, filled, routesOf, type ServedRoute } from '../conversation-service/routes.ts'
import { ANNS, closedDirectories, closedFiles, openAttackBench, type AttackBench } from './bench.ts'

let bench: AttackBench
let routes: ServedRoute[]
beforeAll(async () => {
  bench = await openAttackBench()
  routes = await routesOf(bench.serving)
  const message = { content: [{ type: 'text', text: ANNS }] }
  await bench.as('ann', 'POST', `/api/conversations/${bench.conversation}/events`, message)
})
afterAll(() => bench[Symbol.asyncDispose]())

/** A request with a path: its query, or its body. `files`: the path is that of a file. */
type PathAttack = { query?: string; body?: (path: string) => unknown; files?: true }

const agent = { kind: 'Agent', llm: { model: 'scripted/none' }, tools: [] }
const command = (cwd: string) => ({ command: 'cat *; ls', cwd })
const project = (project_dir: string) => ({ project_dir })

/** Members of requests that hold paths of the machine. All are refused with 422. */
const PATHS: Readonly<Record<string, readonly PathAttack[]>> = {
  'POST /api/conversations': [
    { body: (working_dir) => ({ agent, workspace: { working_dir } }) },
    { body: (working_dir) => ({ agent, workspace: { working_dir }, worktree: true }) },
    { body: (source) => ({ agent, workspace: { working_dir: '/usr/share' }, plugins: [{ source }] }) },
  ],
  'POST /api/hooks': [{ body: project }],
  'POST /api/skills': [{ body: project }],
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
  'POST /api/file/upload',
  'GET /api/file/search_subdirs',
])

/** Paths of routes that name no path of the machine: what a user has stored, and what is the same for all. They show nothing of another user. */
const OWN =
  /^\/(?:api\/(?:settings|secrets|profiles|agent-profiles|llm|tools|keys|audit|webhooks|v1\/webhooks|auth|bash\/bash_events)|v1)(?:\/|$)/
const OWN_ROUTES: ReadonlySet<string> = new Set([
  'GET /api/conversations',
  'GET /api/conversations/search',
  'GET /api/conversations/count',
  'GET /api/file/home',
])

const nameOf = ({ method, path }: ServedRoute): string => `${method} ${path}`
const namesConversation = ({ names }: ServedRoute): boolean => names.includes('conversation_id')
const isListed = (route: ServedRoute): boolean =>
  Object.hasOwn(PATHS, nameOf(route)) ||
  ELSEWHERE.has(nameOf(route)) ||
  OWN_ROUTES.has(nameOf(route)) ||
  namesConversation(route) ||
  OWN.test(route.path)

test('every served route has an attack, or a reason to need none, and every entry is served', () => {
  const needed = routes.filter(({ isOpen }) => !isOpen)
  expect(needed.filter((route) => !isListed(route)).map(nameOf)).toEqual([])
  const served = new Set(routes.map(nameOf))
  expect([...Object.keys(PATHS), ...ELSEWHERE, ...OWN_ROUTES].filter((name) => !served.has(name))).toEqual([])
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
        const isPlaced = status === 422 && json.detail[0].input === target
        if (!isPlaced || text.replaceAll(target, '').includes(ANNS))
          found.push([name, target, status, text.slice(0, 200)])
      }
    }
  }
  expect(found).toEqual([])
}, 60_000)

test('the id of a stranger, and no id at all, show nothing of another user on any route', async () => {
  const ids = { conversation_id: bench.conversation, event_id: bench.conversation, file_path: 'secret.txt' }
  const found: unknown[] = []
  const asked = routes.filter(
    (route) => namesConversation(route) || OWN.test(route.path) || OWN_ROUTES.has(nameOf(route)),
  )
  expect(asked.length).toBeGreaterThan(80)
  for (const route of asked) {
    const answer = await bench.as('bob', route.method, filled(route.path, ids), bodyFor(route.method, route.path))
    if (answer.text.includes(ANNS) || answer.status >= 500)
      found.push([nameOf(route), answer.status, answer.text.slice(0, 200)])
  }
  expect(found).toEqual([])
  const own = await bench.as('ann', 'GET', `/api/conversations/${bench.conversation}/events/search`)
  expect(own.text).toContain(ANNS)
}, 60_000)
