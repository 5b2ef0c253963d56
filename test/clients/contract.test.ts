/**
 * The HTTP contract as a table: each served operation of the index, with its answers for success and for each error of the
 * reference. A newly served operation needs cases. Writes the count into the facts.
 */
import { afterAll, describe, expect, test } from 'vitest'
import { recordFacts } from '../facts.ts'
import { readSource } from '../source-files.ts'
import { type Ask, type Case, type Cases, detail, openPlace, send } from './contract/case.ts'
import { commandCases } from './contract/commands.ts'
import { conversationCases } from './contract/conversations.ts'
import { eventCases } from './contract/events.ts'
import { fileCases } from './contract/files.ts'
import { anonymous, INDEX, nameOf } from './contract/index-rows.ts'
import { installedSkillCases } from './contract/installed-skills.ts'
import { mcpCases } from './contract/mcp.ts'
import { notAvailableCases } from './contract/not-available.ts'
import { pluginCases } from './contract/plugins.ts'
import { profileCases } from './contract/profiles.ts'
import { projectCases } from './contract/projects.ts'
import { serverCases } from './contract/server.ts'
import { steeringCases } from './contract/steering.ts'
import { startBench } from '../../packages/server/testing/typescript-client.ts'

// The tests depend on the served operations, so the server starts before they are declared.
const bench = await startBench({ PARLEY_TRUSTED_HOOKS: '*' })
const place = openPlace(bench)
const served = await operations()
const passed = new Map<string, number>()
let asked = 0
const CASES: Cases = Object.fromEntries(
  Object.entries({
    ...serverCases,
    ...conversationCases,
    ...eventCases,
    ...commandCases,
    ...fileCases,
    ...profileCases,
    ...steeringCases,
    ...projectCases,
    ...mcpCases,
    ...pluginCases,
    ...installedSkillCases,
    ...notAvailableCases,
  }).filter(([row]) => served.has(anonymous(row))),
)

async function operations(): Promise<Set<string>> {
  const { body } = await bench.server.call('GET', '/openapi.json')
  const names = Object.entries<Record<string, unknown>>(body.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => anonymous(`${method.toUpperCase()} ${path}`)),
  )
  // The details of the server have a second path, which the OpenAPI document omits.
  return new Set([...names, 'GET /'])
}

afterAll(async () => {
  await bench[Symbol.asyncDispose]()
  // Figures of a selection would be misleading.
  if (asked < Object.keys(CASES).flatMap(casesOf).length) return
  const rows = INDEX.map(nameOf)
  const casesPassing = [...passed.values()].reduce((sum, count) => sum + count, 0)
  const isPassed = (row: string) => CASES[row] !== undefined && passed.get(row) === casesOf(row).length
  recordFacts('agent_server_contract', {
    rows_of_the_index: rows.length,
    rows_served: rows.filter((row) => served.has(anonymous(row))).length,
    rows_passing: rows.filter(isPassed).length,
    rows_passing_of_tier_a: INDEX.filter((row) => row.tier === 'A' && isPassed(nameOf(row))).length,
    rows_of_tier_a: INDEX.filter(({ tier }) => tier === 'A').length,
    cases_passing: casesPassing,
    measured_at: new Date().toISOString(),
  })
})

/** Cases of every operation below `/api`, and of every one with an id in its path. */
function general(row: string): Case[] {
  const [, path] = row.split(' ') as [string, string]
  const filled = path.replaceAll(/\{\w+\}/g, 'x')
  const cases: Case[] = []
  // The initialisation has a key of its own, and this server has no initialisation.
  if (path.startsWith('/api/') && path !== '/api/init')
    cases.push({
      says: 'no key',
      status: 401,
      shape: detail('Unauthorized'),
      ask: () => ({ path: filled, anonymous: true }),
    })
  if (path.startsWith('/api/conversations/{id}'))
    cases.push({
      says: 'an id that is none',
      status: 422,
      shape: {
        detail: expect.arrayContaining([
          expect.objectContaining({ type: 'uuid_parsing', loc: ['path', 'conversation_id'] }),
        ]),
      },
      ask: () => ({ path: filled, body: row.startsWith('GET') || row.startsWith('DELETE') ? undefined : {} }),
    })
  return cases
}

const casesOf = (row: string): readonly Case[] => [...(CASES[row] ?? []), ...general(row)]

async function ask(row: string, { ask: make }: Case): Promise<{ status: number; body: unknown }> {
  const [method, path] = row.split(' ') as [string, string]
  const asked: Ask = (await make?.(place)) ?? {}
  const target = asked.path ?? (path.includes('{id}') ? path.replace('{id}', (await place.idle()).id) : path)
  return send(bench.server.url + target, method, asked)
}

describe.each(Object.keys(CASES))('%s', (row) => {
  test.each(casesOf(row))('contract case $says is answered with $status', async (each) => {
    asked += 1
    const { status, body } = await ask(row, each)
    expect({ status, body }).toEqual({ status: each.status, body: 'shape' in each ? each.shape : body })
    passed.set(row, (passed.get(row) ?? 0) + 1)
  })
})

test('all contract cases belong to operations of the index', () => {
  const known = new Set(INDEX.map(nameOf))
  expect(Object.keys(CASES).filter((row) => !known.has(row))).toEqual([])
})

test('README.md states the numbers of known and served operations', () => {
  const rows = INDEX.map(nameOf).filter((row) => served.has(anonymous(row)))
  const text = `${rows.length} of the ${INDEX.length} HTTP operations of the agent-server API are served`
  expect(readSource('README.md')).toContain(text)
})

test('every served operation of the index has contract cases', () => {
  const rows = INDEX.map(nameOf).filter((row) => served.has(anonymous(row)))
  expect(rows.filter((row) => CASES[row] === undefined)).toEqual([])
})
