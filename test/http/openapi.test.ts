/**
 * The OpenAPI document satisfies the rules of OpenAPI 3.1 for members of its objects, and agrees with the served endpoints.
 * Sources: OpenAPI 3.1.0, section 4.8; JSON Schema 2020-12.
 */
import * as protocol from '@parley/protocol'
import type { Endpoint } from '@parley/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../../packages/server/testing/server.ts'

const isRow = (value: unknown): value is Endpoint =>
  typeof value === 'object' && value !== null && 'method' in value && 'path' in value && 'auth' in value

type Json = ReturnType<typeof JSON.parse>

let server: TestServer
let document: Json
beforeAll(async () => {
  server = await startTestServer()
  document = (await server.call('GET', '/openapi.json')).body
})
afterAll(() => server[Symbol.asyncDispose]())

const METHODS = ['get', 'put', 'post', 'delete', 'patch']
type NamedOperation = { name: string; path: string; method: string; operation: Json }
const operations = (): NamedOperation[] =>
  Object.entries<Json>(document.paths).flatMap(([path, methods]) =>
    Object.entries<Json>(methods).map(([method, operation]) => ({
      name: `${method} ${path}`,
      path,
      method,
      operation,
    })),
  )

/** Faults of an object's members: missing ones and illegal ones. */
function membersOf(
  value: Json,
  where: string,
  required: readonly string[],
  optional: readonly string[] = [],
): string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [`${where} is no object`]
  const names = Object.keys(value).filter((name) => !name.startsWith('x-'))
  return [
    ...required.filter((name) => !names.includes(name)).map((name) => `${where} has no ${name}`),
    ...names.filter((name) => ![...required, ...optional].includes(name)).map((name) => `${where} has ${name}`),
  ]
}

const TYPES = new Set(['null', 'boolean', 'object', 'array', 'number', 'string', 'integer'])
const IN_MAPS = ['properties', 'patternProperties', '$defs', 'dependentSchemas']
const IN_LISTS = ['allOf', 'anyOf', 'oneOf', 'prefixItems']
const IN_PLACE = [
  'items',
  'contains',
  'additionalProperties',
  'propertyNames',
  'not',
  'if',
  'then',
  'else',
  'unevaluatedProperties',
]
const OTHERS =
  '$ref type enum const title description default examples deprecated format required minimum maximum exclusiveMinimum ' +
  'exclusiveMaximum multipleOf minLength maxLength pattern minItems maxItems uniqueItems minProperties maxProperties readOnly ' +
  'writeOnly discriminator contentEncoding contentMediaType $comment'
const KEYWORDS = new Set([...IN_MAPS, ...IN_LISTS, ...IN_PLACE, ...OTHERS.split(' ')])

/** Faults of a schema and of all nested schemas. */
function schemaFaults(schema: Json, where: string): string[] {
  if (typeof schema === 'boolean') return []
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return [`${where} is no schema`]
  const faults: string[] = []
  for (const name of Object.keys(schema))
    if (!KEYWORDS.has(name) && !name.startsWith('x-')) faults.push(`${where} has ${name}`)
  const { type, required, enum: values, pattern, $ref, discriminator } = schema
  for (const each of type === undefined ? [] : [type].flat())
    if (!TYPES.has(each)) faults.push(`${where} has the type ${each}`)
  if (required !== undefined) {
    const isList = Array.isArray(required) && required.every((name) => typeof name === 'string')
    if (!isList || new Set(required).size !== required.length)
      faults.push(`${where}.required is no list of different names`)
  }
  if (values !== undefined && !(Array.isArray(values) && values.length > 0)) faults.push(`${where}.enum has no values`)
  if (pattern !== undefined) new RegExp(pattern, 'u')
  if ($ref !== undefined && referred($ref) === undefined) faults.push(`${where} refers to ${$ref}`)
  if (discriminator !== undefined)
    faults.push(...membersOf(discriminator, `${where}.discriminator`, ['propertyName'], ['mapping']))
  for (const name of ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'])
    if (schema[name] !== undefined && typeof schema[name] !== 'number') faults.push(`${where}.${name} is no number`)
  for (const name of ['minLength', 'maxLength', 'minItems', 'maxItems'])
    if (schema[name] !== undefined && !(Number.isInteger(schema[name]) && schema[name] >= 0))
      faults.push(`${where}.${name} is no count`)
  for (const name of IN_MAPS)
    for (const [member, inner] of Object.entries(schema[name] ?? {}))
      faults.push(...schemaFaults(inner, `${where}.${name}.${member}`))
  for (const name of IN_LISTS) {
    if (schema[name]?.length === 0) faults.push(`${where}.${name} is empty`)
    for (const [index, inner] of (schema[name] ?? []).entries())
      faults.push(...schemaFaults(inner, `${where}.${name}[${index}]`))
  }
  for (const name of IN_PLACE) if (name in schema) faults.push(...schemaFaults(schema[name], `${where}.${name}`))
  return faults
}

function referred(ref: string): Json {
  const parts = ref.startsWith('#/') ? ref.slice(2).split('/') : ['']
  return parts.reduce((at: Json, part) => at?.[part.replaceAll('~1', '/').replaceAll('~0', '~')], document)
}

const contentFaults = (content: Json, where: string): string[] =>
  Object.entries<Json>(content).flatMap(([type, media]) => [
    ...(/^[\w.+-]+\/[\w.+*-]+$/.test(type) ? [] : [`${where} has the media type ${type}`]),
    ...membersOf(media, `${where} ${type}`, [], ['schema', 'example', 'examples', 'encoding']),
    ...('schema' in media ? schemaFaults(media.schema, `${where} ${type}`) : []),
  ])

describe('the shape of the document', () => {
  test('the root of the OpenAPI document and its info have legal members', () => {
    expect(
      membersOf(document, 'document', ['openapi', 'info', 'paths', 'components'], ['servers', 'security', 'tags']),
    ).toEqual([])
    expect(document.openapi).toMatch(/^3\.1\.\d+$/)
    expect(
      membersOf(document.info, 'info', ['title', 'version'], ['summary', 'description', 'license', 'contact']),
    ).toEqual([])
  })

  test('components of the OpenAPI document have legal names and schemas', () => {
    expect(membersOf(document.components, 'components', ['schemas', 'securitySchemes'])).toEqual([])
    const names = Object.keys(document.components.schemas)
    expect(names.filter((name) => !/^[a-zA-Z0-9._-]+$/.test(name))).toEqual([])
    expect(names.flatMap((name) => schemaFaults(document.components.schemas[name], name))).toEqual([])
  })

  test('security schemes of the OpenAPI document are of a known type, and operations name no others', () => {
    const schemes = document.components.securitySchemes
    for (const [name, scheme] of Object.entries<Json>(schemes)) {
      const rest = scheme.type === 'http' ? ['scheme'] : ['in', 'name']
      expect(membersOf(scheme, name, ['type', ...rest], ['description', 'bearerFormat'])).toEqual([])
    }
    const named = operations().flatMap(({ operation }) => (operation.security ?? []).flatMap(Object.keys))
    expect([...new Set(named)].filter((name) => !(name in schemes))).toEqual([])
  })

  test('paths of the OpenAPI document are unique, begin with a slash and have legal methods', () => {
    const paths = Object.keys(document.paths)
    expect(paths.filter((path) => !path.startsWith('/'))).toEqual([])
    const shapes = paths.map((path) => path.replaceAll(/\{\w+\}/g, '{}'))
    expect(shapes.filter((shape, index) => shapes.indexOf(shape) !== index)).toEqual([])
    expect(operations().filter(({ method }) => !METHODS.includes(method))).toEqual([])
  })

  test('operations of the OpenAPI document have legal parameters, bodies and responses', () => {
    const faults = operations().flatMap(({ name, path, operation }) => {
      const allowed = ['summary', 'tags', 'description', 'parameters', 'requestBody', 'security', 'deprecated']
      const found = membersOf(operation, name, ['operationId', 'responses'], allowed)
      const parameters: Json[] = operation.parameters ?? []
      for (const parameter of parameters) {
        const where = `${name} parameter ${parameter.name}`
        found.push(
          ...membersOf(
            parameter,
            where,
            ['name', 'in', 'schema'],
            ['required', 'description', 'deprecated', 'style', 'explode'],
          ),
        )
        if (!['path', 'query', 'header', 'cookie'].includes(parameter.in)) found.push(`${where} is in ${parameter.in}`)
        if (parameter.in === 'path' && parameter.required !== true)
          found.push(`${where} is in the path and not required`)
        found.push(...schemaFaults(parameter.schema, where))
      }
      const keys = parameters.map((parameter) => `${parameter.in} ${parameter.name}`)
      if (new Set(keys).size !== keys.length) found.push(`${name} has a parameter twice`)
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, each]) => `path ${each}`)
      const declared = keys.filter((key) => key.startsWith('path '))
      if (inPath.toSorted().join() !== declared.toSorted().join()) found.push(`${name} declares ${declared.join()}`)
      if (operation.requestBody !== undefined) {
        found.push(...membersOf(operation.requestBody, `${name} body`, ['content'], ['required', 'description']))
        found.push(...contentFaults(operation.requestBody.content, `${name} body`))
      }
      if (Object.keys(operation.responses).length === 0) found.push(`${name} has no answers`)
      for (const [status, answer] of Object.entries<Json>(operation.responses)) {
        if (!/^(?:[1-5]\d\d|[1-5]XX|default)$/.test(status)) found.push(`${name} answers ${status}`)
        found.push(...membersOf(answer, `${name} ${status}`, ['description'], ['content', 'headers', 'links']))
        found.push(...contentFaults(answer.content ?? {}, `${name} ${status}`))
      }
      return found
    })
    expect(faults).toEqual([])
  })

  test('operation ids are unique names', () => {
    const ids = operations().map(({ operation }) => operation.operationId)
    expect(ids.filter((id) => !/^[a-zA-Z_]\w*$/.test(id))).toEqual([])
    expect(new Set(ids).size).toBe(ids.length)
  })
})

describe('document and server', () => {
  test('every documented operation is served', async () => {
    for (const { name, path, method } of operations()) {
      const place = path.replaceAll(/\{\w+\}/g, '00000000-0000-4000-8000-000000000000')
      const { status, body } = await server.call(method.toUpperCase(), place, method === 'get' ? undefined : '{', {
        'X-Session-API-Key': 'wrong',
      })
      expect([name, status === 404 && body.detail === 'Not Found', status === 405]).toEqual([name, false, false])
    }
  })

  test('every served operation is documented', async () => {
    const rows = Object.values<unknown>(protocol).filter(isRow)
    expect(rows.length).toBeGreaterThan(80)
    for (const { method, path } of rows) {
      const place = path.replaceAll(/\{\w+\}/g, '00000000-0000-4000-8000-000000000000')
      const { status, body } = await server.call(method, place, undefined, { 'X-Session-API-Key': 'wrong' })
      const isServed = !(status === 405 || (status === 404 && body.detail === 'Not Found'))
      const isNamed = document.paths[path]?.[method.toLowerCase()] !== undefined
      expect([`${method} ${path}`, isServed && !isNamed]).toEqual([`${method} ${path}`, false])
    }
  })

  test('the OpenAPI document has operations of every group of endpoints', () => {
    const served = new Set(operations().map(({ name }) => name))
    const one = '/api/conversations/{conversation_id}'
    const expected = [
      'post /api/conversations',
      `post ${one}/goal`,
      `post ${one}/goal/stop`,
      `post ${one}/goal/resume`,
      `post ${one}/switch_llm`,
      `post ${one}/switch_profile`,
      `post ${one}/switch_acp_model`,
      `post ${one}/load_plugin`,
      `post ${one}/secrets`,
      `get ${one}/events/stream`,
      'post /api/bash/execute_bash_command',
      'get /api/profiles',
      'post /api/secrets',
      'post /api/settings',
      'post /api/v1/webhooks/conversations',
      'get /v1/models',
      'post /v1/chat/completions',
    ]
    expect(expected.filter((name) => !served.has(name))).toEqual([])
  })

  test('schemas that clients generate types for have names', () => {
    const names = [
      'ConversationInfo',
      'LLM',
      'StartConversationRequest',
      'SwitchLlmRequest',
      'StartGoalRequest',
      'ChatCompletion',
      'SecretSource',
    ]
    expect(names.filter((name) => !(name in document.components.schemas))).toEqual([])
  })

  test('chat completions also accept a bearer key', () => {
    expect(document.paths['/v1/models'].get.security).toEqual([{ APIKeyHeader: [] }, { HTTPBearer: [] }])
    expect(document.paths['/api/profiles'].get.security).toEqual([{ APIKeyHeader: [] }])
  })
})
