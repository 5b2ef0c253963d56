import { expect, test } from 'vitest'
import { z } from 'zod'
import * as protocol from '../index.ts'
import { getConversations, searchConversations, searchEvents } from './agent-server.ts'
import type { Endpoint } from './endpoint.ts'

const isRow = (value: unknown): value is Endpoint =>
  typeof value === 'object' && value !== null && 'operationId' in value && 'path' in value
const exported = Object.entries<unknown>(protocol).filter((entry): entry is [string, Endpoint] => isRow(entry[1]))
const rows = exported.map(([, row]) => row)
const names = (path: string) => [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)

test('no two endpoint rows have the same method and path', () => {
  const keys = rows.map(({ method, path }) => `${method} ${path}`)
  expect(keys.filter((key, at) => keys.indexOf(key) !== at)).toEqual([])
})

test.each(rows)('the row $method $path declares each of its path parameters', ({ path, params }) => {
  expect(Object.keys(params?.shape ?? {})).toEqual(names(path))
})

test.each(rows)('the schemas of the row $method $path can be documented', (row) => {
  for (const schema of [row.params, row.query, row.body])
    if (schema !== undefined)
      expect(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })).toBeTypeOf('object')
  if (row.ok.schema !== undefined)
    expect(z.toJSONSchema(row.ok.schema, { io: 'output', unrepresentable: 'any' })).toBeTypeOf('object')
})

/** The login takes a code in place of a key, and a server that is configured when it starts has nothing to protect at `/api/init`. */
const OPEN = new Set(['POST /api/auth/sessions', 'GET /api/init', 'POST /api/init'])

test('every row under /api and /v1 but the login and the initialisation, and that of the metrics, need a key, and every other row needs none', () => {
  for (const { path, method, auth } of rows) {
    const needsKey = /^\/(?:(?:api|v1)\/|metrics$)/.test(path) && !OPEN.has(`${method} ${path}`)
    expect(auth, path).toBe(needsKey ? 'session_key' : 'none')
  }
})

test('the operation id of a row is the name of its export', () => {
  for (const [name, { operationId }] of exported) expect(operationId).toBe(name)
})

test('the description of a row is a sentence that begins with a verb in the third person', () => {
  for (const { description } of rows) expect(description).toMatch(/^[A-Z]\w+s\b.*\.$/)
})

test('query scalars of endpoint rows are read from text', () => {
  expect(searchConversations.query.parse({ limit: '5', include_skills: 'on', status: 'running' })).toEqual({
    limit: 5,
    include_skills: true,
    status: 'running',
    sort_order: 'CREATED_AT_DESC',
  })
  expect(searchEvents.query.parse({ timestamp__gte: '2026-01-01T00:00:00+01:00' })).toEqual({
    limit: 100,
    sort_order: 'TIMESTAMP',
    timestamp__gte: '2025-12-31T23:00:00.000000',
  })
})

test.each(['0', '101', 'x'])('a page limit of %s is refused', (limit) => {
  expect(searchConversations.query.safeParse({ limit }).success).toBe(false)
})

test('a query member that may be repeated reads one value as a list of one', () => {
  const id = '6f9619ff-8b86-4011-b42d-00c04fc964ff'
  expect(getConversations.query.parse({ ids: id.replaceAll('-', '') }).ids).toEqual([id])
  expect(getConversations.query.parse({ ids: [id, id] }).ids).toEqual([id, id])
  expect(getConversations.query.parse({})).toMatchObject({ limit: 20, include_sub_conversations: false })
})
