import { expect, test } from 'vitest'
import { z } from 'zod'
import { agentServerRows, getConversations, searchConversations, searchEvents } from './agent-server.ts'
import { bashRows } from './bash.ts'
import { clientToolRows } from './client-tools.ts'
import type { Endpoint } from './endpoint.ts'
import { fileRows } from './files.ts'
import { gitRows } from './git.ts'
import { auditRows, keyRows } from './keys.ts'
import { hookRows } from './hooks.ts'
import { modelRows } from './models.ts'
import { profileRows } from './profiles.ts'
import { lifecycleRows } from './lifecycle.ts'
import { seedRows } from './seed.ts'
import { serverRows } from './server.ts'
import { settingsRows } from './settings.ts'
import { skillRows } from './skills.ts'
import { steeringRows } from './steering.ts'
import { trajectoryRows } from './trajectory.ts'
import { deliveryRows, receiverRows } from './webhooks.ts'

const rows: readonly Endpoint[] = [
  ...lifecycleRows,
  ...agentServerRows,
  ...steeringRows,
  ...clientToolRows,
  ...serverRows,
  ...seedRows.slice(1),
  ...settingsRows,
  ...trajectoryRows,
  ...receiverRows,
  ...deliveryRows,
  ...keyRows,
  ...auditRows,
  ...bashRows,
  ...fileRows,
  ...gitRows,
  ...hookRows,
  ...modelRows,
  ...profileRows,
  ...skillRows,
]
const names = (path: string) => [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)

test('no two rows have the same method and path', () => {
  const keys = rows.map(({ method, path }) => `${method} ${path}`)
  expect(keys.filter((key, at) => keys.indexOf(key) !== at)).toEqual([])
})

test.each(rows)('$method $path declares each of its path parameters', ({ path, params }) => {
  expect(Object.keys(params?.shape ?? {})).toEqual(names(path))
})

test.each(rows)('$method $path can be documented', (row) => {
  for (const schema of [row.params, row.query, row.body])
    if (schema !== undefined)
      expect(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })).toBeTypeOf('object')
  if (row.ok.schema !== undefined)
    expect(z.toJSONSchema(row.ok.schema, { io: 'output', unrepresentable: 'any' })).toBeTypeOf('object')
})

test('everything under /api needs a key, the rest none', () => {
  for (const { path, auth } of rows) expect(auth).toBe(path.startsWith('/api/') ? 'session_key' : 'none')
})

test('New Conversation is the one row of its path in both faces', () => {
  expect(agentServerRows).toContain(seedRows[0])
})

test('query scalars are read from text', () => {
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

test.each(['0', '101', 'x'])('a limit of %s is refused', (limit) => {
  expect(searchConversations.query.safeParse({ limit }).success).toBe(false)
})

test('one repeated value is a list of one', () => {
  const id = '6f9619ff-8b86-4011-b42d-00c04fc964ff'
  expect(getConversations.query.parse({ ids: id.replaceAll('-', '') }).ids).toEqual([id])
  expect(getConversations.query.parse({ ids: [id, id] }).ids).toEqual([id, id])
  expect(getConversations.query.parse({})).toMatchObject({ limit: 20, include_sub_conversations: false })
})
