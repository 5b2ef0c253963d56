import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type KeyedServer, type Loose, startKeyedServer } from '../../packages/server/testing/keyed-server.ts'

let edge: KeyedServer
let document: Loose
beforeAll(async () => {
  edge = await startKeyedServer()
  document = (await edge.call('GET', '/openapi.json', undefined, { key: null })).json
})
afterAll(() => edge[Symbol.asyncDispose]())

describe('endpoints without a key', () => {
  test.each([
    ['/alive', { status: 'ok' }],
    ['/health', { status: 'ok' }],
    ['/ready', { status: 'ready' }],
  ])('GET %s needs no key', async (path, body) => {
    const { status, json } = await edge.call('GET', path, undefined, { key: null })
    expect([status, json]).toEqual([200, body])
  })

  test.each(['/server_info', '/'])('GET %s returns the versions that clients gate features on', async (path) => {
    const { status, json } = await edge.call('GET', path, undefined, { key: null })
    expect(status).toBe(200)
    expect(json).toMatchObject({
      version: expect.stringMatching(/^1\.\d+\.\d+$/),
      docs: '/docs',
      runtime_idle_timeout_seconds: null,
    })
    for (const name of [
      'title',
      'sdk_version',
      'tools_version',
      'workspace_version',
      'build_git_sha',
      'build_git_ref',
      'python_version',
    ])
      expect(json[name]).toEqual(expect.any(String))
    for (const name of ['uptime', 'idle_time']) expect(Number.isInteger(json[name])).toBe(true)
    for (const name of ['usable_tools', 'capabilities']) expect(Array.isArray(json[name])).toBe(true)
  })

  test.each(['/server_info', '/'])('GET %s describes the installation only to a valid key', async (path) => {
    const OWN = ['parley_version', 'build', 'mode', 'isolation', 'process_tracking']
    for (const key of [null, 'a guess']) {
      const { status, json, text } = await edge.call('GET', path, undefined, { key })
      expect([status, OWN.filter((name) => name in json)]).toEqual([200, []])
      expect(text).not.toContain(process.versions.node)
    }
    const { json } = await edge.call('GET', path)
    expect(OWN.filter((name) => name in json)).toEqual(OWN)
    expect(json).toMatchObject({ parley_version: expect.stringMatching(/^\d+\.\d+\.\d+/), mode: 'personal' })
  })
})

describe('endpoints with a key', () => {
  test('exactly the operations that are documented with a key need one', async () => {
    for (const [path, methods] of Object.entries<Loose>(document.paths))
      for (const [method, operation] of Object.entries<Loose>(methods)) {
        const place = path.replaceAll(/\{\w+\}/g, '0f2a1b3c-4d5e-4f60-8a9b-0c1d2e3f4a5b')
        const { status } = await edge.call(method.toUpperCase(), place, method === 'get' ? undefined : '{', {
          key: null,
        })
        expect([`${method} ${path}`, status === 401]).toEqual([`${method} ${path}`, operation.security !== undefined])
      }
  })
})

describe('OpenAPI document', () => {
  const operations = () => Object.values<Loose>(document.paths).flatMap((methods) => Object.values<Loose>(methods))

  test('the OpenAPI document names its version, its security scheme and its schemas', () => {
    expect(document.openapi).toBe('3.1.0')
    expect(document.components.securitySchemes).toEqual({
      APIKeyHeader: { type: 'apiKey', in: 'header', name: 'X-Session-API-Key' },
      HTTPBearer: { type: 'http', scheme: 'bearer' },
    })
    for (const name of [
      'ConversationInfo',
      'HTTPValidationError',
      'StartConversationRequest',
      'InitSessionRequest',
      'SecurityAnalyzer',
    ])
      expect(document.components.schemas).toHaveProperty(name)
  })

  test('every reference in the OpenAPI document resolves', () => {
    const text = JSON.stringify(document)
    const wanted = new Set([...text.matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name!))
    expect([...wanted].filter((name) => !(name in document.components.schemas))).toEqual([])
    expect(text).not.toContain('#/$defs/')
  })

  test('every operation has a unique id, its path parameters, and 422 where it reads input', () => {
    const ids = operations().map(({ operationId }) => operationId)
    expect(new Set(ids).size).toBe(ids.length)
    for (const [path, methods] of Object.entries<Loose>(document.paths))
      for (const operation of Object.values<Loose>(methods)) {
        const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
        const declared = (operation.parameters ?? [])
          .filter((parameter: Loose) => parameter.in === 'path')
          .map(({ name }: Loose) => name)
        expect(declared).toEqual(named)
        if (named.length > 0 || operation.requestBody !== undefined) expect(operation.responses).toHaveProperty('422')
      }
  })

  test('schemas of the OpenAPI document contain no artefacts of the library', () => {
    const parameters = document.paths['/api/conversations/search'].get.parameters
    const limit = parameters.find(({ name }: Loose) => name === 'limit')
    expect(limit).toMatchObject({
      in: 'query',
      required: false,
      schema: { type: 'integer', maximum: 100, default: 100 },
    })
    expect(document.components.schemas.SecurityAnalyzer.discriminator).toEqual({ propertyName: 'kind' })
    expect(document.components.schemas.ConversationInfo.required.toSorted()).toEqual(['agent', 'id', 'workspace'])
    const text = JSON.stringify(document)
    for (const noise of ['9007199254740991', 'propertyNames', '$schema']) expect(text).not.toContain(noise)
  })
})

describe('/docs', () => {
  test('/docs lists every operation and schema and needs no external resources', async () => {
    const { status, text, headers } = await edge.call('GET', '/docs', undefined, { key: null })
    expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    for (const path of Object.keys(document.paths)) expect(text).toContain(`<code>${path}</code>`)
    for (const name of Object.keys(document.components.schemas)) expect(text).toContain(`id="${name}"`)
    expect(text).not.toMatch(/(?:src|href)="(?:https?:)?\/\//)
    expect(headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; script-src 'sha256-/,
    )
  })

  test('/redoc redirects to /docs', async () => {
    const { status, headers } = await edge.call('GET', '/redoc', undefined, { key: null })
    expect([status, headers.get('location')]).toEqual([307, '/docs'])
  })
})
