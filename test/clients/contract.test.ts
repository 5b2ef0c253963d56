/**
 * The wire as a table: each operation of the index that is served, with its answers to success and to each error that the
 * reference lists. An operation that begins to be served has to bring its cases. Writes the count into the facts.
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
import { profileCases } from './contract/profiles.ts'
import { projectCases } from './contract/projects.ts'
import { serverCases } from './contract/server.ts'
import { steeringCases } from './contract/steering.ts'
import { startBench } from './typescript-client.ts'

// Which tests there are depends on what is served, so the server starts before they are declared.
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
  }).filter(([row]) => served.has(anonymous(row))),
)

async function operations(): Promise<Set<string>> {
  const { body } = await bench.server.call('GET', '/openapi.json')
  const names = Object.entries<Record<string, unknown>>(body.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => anonymous(`${method.toUpperCase()} ${path}`)),
  )
  // The details of the server have a second address, which the description does not repeat.
  return new Set([...names, 'GET /'])
}

afterAll(async () => {
  await bench[Symbol.asyncDispose]()
  // Figures of a selection would mislead.
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

/** What holds for every operation below `/api`, and for every one with an id in its path. */
function general(row: string): Case[] {
  const [, path] = row.split(' ') as [string, string]
  const filled = path.replaceAll(/\{\w+\}/g, 'x')
  const cases: Case[] = []
  if (path.startsWith('/api/'))
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
  test.each(casesOf(row))('$says: $status', async (each) => {
    asked += 1
    const { status, body } = await ask(row, each)
    expect({ status, body }).toEqual({ status: each.status, body: 'shape' in each ? each.shape : body })
    passed.set(row, (passed.get(row) ?? 0) + 1)
  })
})

test('the cases are of operations of the index', () => {
  const known = new Set(INDEX.map(nameOf))
  expect(Object.keys(CASES).filter((row) => !known.has(row))).toEqual([])
})

test('README.md says how many operations there are, and how many are served', () => {
  const rows = INDEX.map(nameOf).filter((row) => served.has(anonymous(row)))
  const [, all, some] = /agent server's (\d+) HTTP operations (\d+) are served/.exec(readSource('README.md')) ?? []
  expect([Number(all), Number(some)]).toEqual([INDEX.length, rows.length])
})

test('every operation of the index that is served has its cases', () => {
  const rows = INDEX.map(nameOf).filter((row) => served.has(anonymous(row)))
  expect(rows.filter((row) => CASES[row] === undefined)).toEqual([])
})
