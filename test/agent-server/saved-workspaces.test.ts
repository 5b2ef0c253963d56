import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Bench, startBench } from '../../packages/server/testing/two-user-server.ts'

let server: Bench
beforeEach(async () => {
  server = await startBench()
})
afterEach(() => server[Symbol.asyncDispose]())

const PATH = '/api/workspaces'
const entry = (path: string, name = path) => ({ id: path, name, path })

test('saved workspaces keep their order, and the first entry with a path stays', async () => {
  await server.call('POST', PATH, { workspaces: [entry('/b'), { ...entry('/a'), parentPath: null }] })
  const added = await server.call('POST', PATH, {
    workspaces: [entry('/a', 'again'), { ...entry('/c'), parentPath: '/' }, entry('/c', 'again')],
  })
  const all = {
    workspaces: [entry('/b'), entry('/a'), { ...entry('/c'), parentPath: '/' }],
    workspaceParents: [],
  }
  expect(added).toEqual({ status: 200, body: all })
  expect(await server.call('GET', PATH)).toEqual({ status: 200, body: all })
})

test('saved workspaces belong to one user', async () => {
  await server.call('POST', PATH, { workspaces: [entry('/a')] })
  await server.call('POST', `${PATH}/parents`, { parents: [entry('/p')] })
  const nothing = { workspaces: [], workspaceParents: [] }
  expect((await server.call('GET', PATH, undefined, server.bob)).body).toEqual(nothing)
  expect((await server.call('DELETE', `${PATH}?path=/a`, undefined, server.bob)).status).toBe(404)
  expect((await server.call('DELETE', `${PATH}/parents?path=/p`, undefined, server.bob)).status).toBe(404)
  expect((await server.call('GET', PATH)).body).toEqual({ workspaces: [entry('/a')], workspaceParents: [entry('/p')] })
})

test('saved workspaces beyond the limit are refused, and none of them is stored', async () => {
  const many = Array.from({ length: 501 }, (_, at) => entry(`/w/${at}`))
  const { status, body } = await server.call('POST', PATH, { workspaces: many })
  expect({ status, body }).toMatchObject({ status: 409, body: { detail: expect.stringContaining('At most 500') } })
  expect((await server.call('GET', PATH)).body.workspaces).toEqual([])
})
