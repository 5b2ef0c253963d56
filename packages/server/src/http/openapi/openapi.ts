/**
 * The OpenAPI document, made from the rows of the served routes. It follows the documents that existing generators expect: named
 * components, `HTTPValidationError`, a security scheme called `APIKeyHeader`.
 */
import * as protocol from '@parley/protocol'
import {
  type Endpoint,
  type EndpointAnswer,
  HTTPValidationError,
  limitOf as lengthLimitOf,
  MAX_JSON_DEPTH,
  MAX_JSON_VALUES,
  takesIdempotencyKey,
} from '@parley/protocol'
import { z } from 'zod'

type Json = Record<string, unknown>

/** Extension of a request body: its largest size in bytes. */
const MAX_BYTES = 'x-max-bytes'

export type Document = {
  openapi: string
  info: Json
  paths: Record<string, Record<string, Operation>>
  components: Json & { schemas: Record<string, Json> }
}
export type Operation = {
  operationId: string
  summary: string
  description: string
  tags: string[]
  parameters?: Json[]
  requestBody?: { description: string; required: boolean; content: Content; [MAX_BYTES]: number }
  responses: Record<string, { description: string; content?: Content }>
  security?: Json[]
}
type Content = Record<string, { schema: Json }>

const REFUSALS: Record<number, string> = {
  400: 'Refused',
  401: 'Missing or wrong key',
  404: 'Not found',
  409: 'Conflict',
  413: 'The body is too large',
  429: 'Too many',
  503: 'Not now',
  504: 'Not in time',
  507: 'No room',
}
/** Source: agent-server-wire.md 3. */
const KEY = { APIKeyHeader: { type: 'apiKey', in: 'header', name: 'X-Session-API-Key' } }
const BEARER = { HTTPBearer: { type: 'http', scheme: 'bearer' } }
const takesBearer = ({ path }: Endpoint): boolean => path.startsWith('/v1/')

const IDEMPOTENCY_KEY: Json = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'Chosen by the client. The same request with the same key is carried out once within 24 hours and gets the same answer.',
  schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[!-~]+$' },
}

const REFUSAL = { $ref: '#/components/schemas/Refusal' }
const Refusal = { type: 'object', properties: { detail: { type: 'string' } }, required: ['detail'] }

/**
 * Describes `rows`. Expensive, so it is made once and on demand.
 * @param limitOf the largest body of a row, in bytes
 */
export function describe(rows: readonly Endpoint[], version: string, limitOf: (row: Endpoint) => number): Document {
  const components = new Components()
  const paths: Document['paths'] = {}
  for (const row of rows) {
    const at = (paths[row.path] ??= {})
    at[row.method.toLowerCase()] = operation(row, components, limitOf)
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Parley',
      version,
      description: 'Conversations between people and autonomous software-engineering agents.',
    },
    paths,
    components: {
      schemas: { ...components.schemas, Refusal },
      securitySchemes: { ...KEY, ...(rows.some(takesBearer) ? BEARER : {}) },
    },
  }
}

function operation(row: Endpoint, components: Components, limitOf: (row: Endpoint) => number): Operation {
  const answers = [row.ok, ...(row.also ?? [])].map(
    (answer) => [String(answer.status), success(answer, components)] as const,
  )
  const isKeyed = takesIdempotencyKey(row)
  const hasJson = row.body !== undefined
  const statuses = new Set([
    ...(row.auth === 'none' ? [] : [401]),
    ...row.errors,
    ...(isKeyed ? [409] : []),
    ...(hasJson ? [413] : []),
  ])
  const refusals = [...statuses].map(
    (status) => [String(status), { description: REFUSALS[status] ?? 'Refused', content: json(REFUSAL) }] as const,
  )
  const reads = isKeyed || row.params !== undefined || row.query !== undefined || row.body !== undefined
  const invalid = { description: 'Validation Error', content: json(components.of(HTTPValidationError)) }
  const parameters = [
    ...parametersOf(row.params, 'path', components),
    ...parametersOf(row.query, 'query', components),
    ...(isKeyed ? [IDEMPOTENCY_KEY] : []),
  ]
  return {
    operationId: row.operationId,
    summary: row.summary ?? titleOf(row.operationId),
    description: row.description,
    tags: [row.tag],
    ...(parameters.length > 0 && { parameters }),
    ...(row.body !== undefined && {
      requestBody: {
        description: `At most ${limitOf(row)} bytes, with at most ${MAX_JSON_VALUES} values in ${MAX_JSON_DEPTH} levels.`,
        required: row.bodyOptional !== true,
        content: json(components.of(bodyOf(row.body))),
        [MAX_BYTES]: limitOf(row),
      },
    }),
    responses: { ...Object.fromEntries([...answers, ...refusals]), ...(reads && { 422: invalid }) },
    ...(row.auth === 'session_key' && {
      security: [{ APIKeyHeader: [] }, ...(takesBearer(row) ? [{ HTTPBearer: [] }] : [])],
    }),
  }
}

/** `sendMessage` as `Send Message`, in the manner of the upstream documents. */
const titleOf = (operationId: string): string =>
  operationId.replace(/^[a-z]/, (letter) => letter.toUpperCase()).replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' ')

/** The body that two APIs share is described as a union of both. */
const bodyOf = (body: z.ZodType): z.ZodType =>
  (body as unknown) === protocol.CreateConversationBody
    ? z.union([protocol.StartConversationRequest, protocol.InitSessionRequest])
    : body

const json = (schema: Json): Content => ({ 'application/json': { schema } })

function success(
  { description, schema }: EndpointAnswer,
  components: Components,
): { description: string; content?: Content } {
  return schema === undefined ? { description } : { description, content: json(components.of(schema)) }
}

function parametersOf(schema: z.ZodObject | undefined, place: 'path' | 'query', components: Components): Json[] {
  if (schema === undefined) return []
  const { properties = {}, required = [] } = components.of(schema) as {
    properties?: Record<string, Json>
    required?: string[]
  }
  return Object.entries(properties).map(([name, described]) => ({
    name,
    in: place,
    required: place === 'path' || required.includes(name),
    schema: described,
  }))
}

/** Schemas under the names that the protocol exports them by; everything else is described in place. */
class Components {
  readonly schemas: Record<string, Json> = {}
  readonly #names = z.registry<{ id: string }>()

  constructor() {
    for (const [id, value] of Object.entries(protocol))
      if (/^[A-Z]/.test(id) && value instanceof z.ZodType && !this.#names.has(value)) this.#names.add(value, { id })
  }

  /** The schema as callers write it, with references to all named schemas. */
  of(schema: z.ZodType): Json {
    const described = z.toJSONSchema(z.object({ it: schema }), {
      io: 'input',
      metadata: this.#names,
      unrepresentable: 'any',
      cycles: 'ref',
      override: ({ zodSchema, jsonSchema }) => tidy(zodSchema, jsonSchema as Json),
    }) as unknown as { properties: { it: Json }; $defs?: Record<string, Json> }
    for (const [name, definition] of Object.entries(described.$defs ?? {}))
      this.schemas[name] ??= referring(definition) as Json
    return referring(described.properties.it) as Json
  }
}

/** Removes what the library adds without meaning, and names the discriminator of a union. */
function tidy(schema: z.core.$ZodType, described: Json): void {
  if (described['maximum'] === Number.MAX_SAFE_INTEGER) delete described['maximum']
  if (described['minimum'] === Number.MIN_SAFE_INTEGER) delete described['minimum']
  if (described['format'] !== undefined) delete described['pattern']
  delete described['propertyNames']
  const most = lengthLimitOf(schema)
  if (most !== null && described['type'] === 'object') described['maxProperties'] = most
  delete described['$schema']
  delete described['id']
  const { id: _id, ...metadata } = z.globalRegistry.get(schema) ?? {}
  Object.assign(described, metadata)
  const def = schema._zod.def as { type: string; discriminator?: string; defaultValue?: unknown }
  // The library omits the default of a value that is also read from other spellings.
  if (def.type === 'default' && def.defaultValue !== undefined) described['default'] = def.defaultValue
  if (def.type === 'union' && def.discriminator !== undefined)
    described['discriminator'] = { propertyName: def.discriminator }
}

function referring(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(referring)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).map(([name, member]) =>
    name === '$ref' && typeof member === 'string'
      ? [name, member.replace('#/$defs/', '#/components/schemas/')]
      : [name, referring(member)],
  )
  return Object.fromEntries(members)
}
