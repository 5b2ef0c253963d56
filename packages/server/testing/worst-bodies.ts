/**
 * The most expensive bodies of every served route that takes JSON, valid and invalid, at the size limit of the route. Routes, limits and
 * schemas are those of the server's own OpenAPI document, so a new route or a new member is included by itself.
 */

type Json = ReturnType<typeof JSON.parse>

export type WorstBody = {
  /** Method and pattern of the route. */
  route: string
  /** Place in the body, and what is there. */
  name: string
  method: string
  /** With its parameters filled in. */
  path: string
  contentType: string
  /** Made on demand: it may have 10 MiB. */
  make(): Buffer
}

/** A route of the document. `limit`: its largest body in bytes. `schema`: null for a route that ignores its body. */
export type JsonRoute = { route: string; method: string; pattern: string; limit: number; schema: Json }

/** Values that a body may have at most, with some left for what surrounds a list. */
const MOST_VALUES = 99_000
/** Levels that a body may have at most, with some left for what surrounds it. */
const MOST_LEVELS = 180

/** Every operation whose request could have a body: those with a schema, and those that ignore it. */
export function jsonRoutes(document: Json, defaultLimit: number): JsonRoute[] {
  return Object.entries<Json>(document.paths).flatMap(([pattern, methods]) =>
    Object.entries<Json>(methods)
      .filter(([method, { requestBody }]) => requestBody !== undefined || method === 'post')
      .map(([method, { requestBody }]) => ({
        route: `${method.toUpperCase()} ${pattern}`,
        method: method.toUpperCase(),
        pattern,
        limit: requestBody?.['x-max-bytes'] ?? defaultLimit,
        schema: requestBody?.content['application/json'].schema ?? null,
      })),
  )
}

/** @param fill the value of a path parameter */
export function* worstBodies(document: Json, route: JsonRoute, fill: (name: string) => string): Generator<WorstBody> {
  const { method, pattern, limit } = route
  const path = pattern.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(fill(name)))
  const common = { route: route.route, method, path }
  for (const [name, make] of Object.entries(plainBodies(limit))) {
    const body = { ...common, name, contentType: 'application/json', make: () => Buffer.from(make()) }
    yield body
    if (name === 'text of quotes') yield { ...body, name: `${name}, not as JSON`, contentType: 'text/plain' }
  }
  if (route.schema === null) return
  const schemas = new Schemas(document)
  for (const place of schemas.places(route.schema))
    for (const [name, inner] of Object.entries(innerValues(schemas, place)))
      yield {
        ...common,
        name: `${place.name || 'body'}: ${name}`,
        contentType: 'application/json',
        make: () => Buffer.from(place.wrap(inner(roomOf(place, limit) - place.wrap('').length - 64))),
      }
}

/** Deep places of a large body get less, because all of them take long; the content of messages, which is stored and sent to models, does not. */
const DEEP_BYTES = 2 * 1024 * 1024
const roomOf = ({ name }: Place, limit: number): number =>
  name.split('.').length > 2 && !/content\[\]\.(?:text|image_urls\[\])$/.test(name)
    ? Math.min(limit, DEEP_BYTES)
    : limit

/** `unit` as often as it fits into `bytes`, at most `most` times. */
const fill = (unit: string, bytes: number, most = Infinity): string =>
  unit.repeat(Math.max(0, Math.min(Math.floor(bytes / Buffer.byteLength(unit)), most)))
const listOf = (item: string, bytes: number, most = MOST_VALUES): string =>
  `[${fill(`${item},`, bytes - item.length - 2, most - 1)}${item}]`
const members = (bytes: number, most: number, value = '0'): string => {
  const names = Array.from({ length: Math.min(most, Math.floor(bytes / (value.length + 12))) }, (_, at) => at)
  return `{${names.map((at) => `"m${at.toString(36)}":${value}`).join(',')}}`
}
const textOf = (unit: string, bytes: number): string => `"${fill(unit, bytes - 2)}"`

/** Bodies that need no schema. */
const plainBodies = (limit: number): Record<string, () => string> => ({
  'list of zeros': () => listOf('0', limit, Infinity),
  'list of zeros, as many as allowed': () => listOf('0', limit),
  'list of empty objects, as many as allowed': () => listOf('{}', limit),
  'list of objects with one member each': () =>
    `[${Array.from({ length: Math.min(MOST_VALUES / 2, limit / 16) }, (_, at) => `{"n${at.toString(36)}":0}`).join(',')}]`,
  'open lists': () => fill('[', limit),
  'nested lists': () => fill('[', limit / 2) + fill(']', limit / 2),
  'nested objects': () => `${fill('{"a":', limit)}`,
  'lists as deep as allowed': () =>
    listOf('['.repeat(MOST_LEVELS) + ']'.repeat(MOST_LEVELS), limit, MOST_VALUES / MOST_LEVELS),
  members: () => members(limit, Infinity),
  'members, as many as allowed': () => members(limit, MOST_VALUES),
  text: () => textOf('x', limit),
  'text of escapes': () => textOf('\\u00e9', limit),
  'text of quotes': () => textOf('\\"', limit),
  'text of two bytes each': () => textOf('é', limit),
  'text without end': () => `{"a":"${fill('x', limit - 6)}`,
  blanks: () => `${fill(' ', limit - 2)}{}`,
  'long number': () => `[${fill('1', limit - 2)}]`,
  'numbers with exponents': () => listOf('1e-300', limit),
  'long name': () => `{"${fill('x', limit - 6)}":0}`,
})

/** A value inside a body, and the rest of the body around it. */
type Place = { name: string; schema: Json; wrap: (inner: string) => string }

/** Valid and invalid values for one place, by what they are; each takes the number of bytes that it may have. */
function innerValues(schemas: Schemas, { schema, name }: Place): Record<string, (bytes: number) => string> {
  const values: Record<string, (bytes: number) => string> = {}
  if (schema.type === 'string') {
    values['long text'] = (bytes) => textOf('x', bytes)
    values['long text of quotes'] = (bytes) => textOf('\\"', bytes)
    values['digits and a letter'] = (bytes) => `"${fill('1', bytes - 4)}x"`
    values['hyphens'] = (bytes) => textOf('-', bytes)
    values['slashes'] = (bytes) => textOf('/a', bytes)
    values['commas'] = (bytes) => textOf('a=,', bytes)
    if (name.endsWith('.image_urls[]'))
      values['image'] = (bytes) => `"data:image/png;base64,${fill('QUJD', bytes - 30)}"`
  }
  if (schema.type === 'number' || schema.type === 'integer' || schema.type === 'boolean')
    values['digits and a letter'] = (bytes) => `"${fill('1', bytes - 4)}x"`
  if (schema.type === 'array') {
    const most = schema.maxItems ?? MOST_VALUES
    const item = JSON.stringify(schemas.sample(schema.items))
    const inItem = Math.max(1, countValues(schemas.sample(schema.items)))
    values['valid members'] = (bytes) => listOf(item, bytes, Math.min(most, Math.floor(MOST_VALUES / inItem)))
    values['zeros, as many as allowed'] = (bytes) => listOf('0', bytes, Math.min(most, MOST_VALUES))
    values['objects, as many as allowed'] = (bytes) => listOf('{}', bytes, Math.min(most, MOST_VALUES))
    values['more members than allowed'] = (bytes) => listOf('0', bytes)
  }
  if (schema.type === 'object') {
    const { additionalProperties } = schema
    const isMap = typeof additionalProperties === 'object' && additionalProperties !== null
    const most = Math.min(schema.maxProperties ?? MOST_VALUES, MOST_VALUES)
    if (isMap) {
      const value = JSON.stringify(schemas.sample(additionalProperties))
      values['valid members'] = (bytes) => members(bytes, most / countValues(JSON.parse(value)), value)
      values['wrong members'] = (bytes) => members(bytes, most)
      values['long names'] = (bytes) =>
        `{${Array.from({ length: 40 }, (_, at) => `"${at}${fill('n', bytes / 40 - 12)}":0`).join(',')}}`
    }
    values['unknown members'] = (bytes) => members(bytes, MOST_VALUES)
    values['no members'] = () => '{}'
  }
  if (name !== '' && Object.keys(values).length > 0) values['list of zeros'] ??= (bytes) => listOf('0', bytes)
  return values
}

const countValues = (value: unknown): number =>
  1 +
  (typeof value === 'object' && value !== null
    ? Object.values(value).reduce((sum: number, one) => sum + countValues(one), 0)
    : 0)

/** The schemas of an OpenAPI document. */
class Schemas {
  readonly #document: Json

  constructor(document: Json) {
    this.#document = document
  }

  /** Every place of a body once, also when several ways lead to its schema. */
  *places(schema: Json): Generator<Place> {
    yield* this.#below({ name: '', schema, wrap: (inner) => inner }, new Set())
  }

  *#below({ name, schema: given, wrap }: Place, seen: Set<Json>): Generator<Place> {
    const schema = this.#resolved(given)
    if (seen.has(schema) || name.split('.').length > 12) return
    seen.add(schema)
    for (const option of this.#options(schema)) yield* this.#below({ name, schema: option, wrap }, seen)
    if (schema.type !== undefined) yield { name, schema, wrap }
    for (const [member, inner] of Object.entries<Json>(schema.properties ?? {})) {
      const around = Object.entries(this.#sampleObject(schema)).filter(([other]) => other !== member)
      const before = around.map(([other, value]) => `${JSON.stringify(other)}:${JSON.stringify(value)},`).join('')
      const inside = (text: string) => wrap(`{${before}${JSON.stringify(member)}:${text}}`)
      yield* this.#below({ name: `${name}.${member}`, schema: inner, wrap: inside }, seen)
    }
    if (schema.items !== undefined)
      yield* this.#below({ name: `${name}[]`, schema: schema.items, wrap: (text) => wrap(`[${text}]`) }, seen)
    if (typeof schema.additionalProperties === 'object')
      yield* this.#below(
        { name: `${name}{}`, schema: schema.additionalProperties, wrap: (text) => wrap(`{"a":${text}}`) },
        seen,
      )
  }

  /** A small value that the schema accepts, as far as the document says. */
  sample(given: Json, depth = 0): Json {
    const schema = this.#resolved(given)
    if ('const' in schema) return schema.const
    if (schema.enum !== undefined) return schema.enum[0]
    if (depth > 8) return null
    const [option] = this.#options(schema).filter((one) => this.#resolved(one).type !== 'null')
    if (option !== undefined) return this.sample(option, depth + 1)
    switch (schema.type) {
      case 'object':
        return this.#sampleObject(schema, depth)
      case 'array':
        return Array.from({ length: schema.minItems ?? 0 }, () => this.sample(schema.items ?? {}, depth + 1))
      case 'string':
        return sampleText(schema)
      case 'integer':
      case 'number':
        return schema.minimum ?? (schema.exclusiveMinimum ?? 0) + 1
      case 'boolean':
        return true
      default:
        return null
    }
  }

  /** With the members that are required, and those that name a variant. */
  #sampleObject(schema: Json, depth = 0): Record<string, Json> {
    const required: string[] = schema.required ?? []
    const members = Object.entries<Json>(schema.properties ?? {}).filter(
      ([name, member]) => required.includes(name) || 'const' in this.#resolved(member),
    )
    return Object.fromEntries(members.map(([name, member]) => [name, this.sample(member, depth + 1)]))
  }

  #options = (schema: Json): Json[] => [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])]

  /** A schema may be `true` or `false`, too. */
  #resolved(schema: Json): Json {
    let at = typeof schema === 'boolean' ? {} : schema
    while (at.$ref !== undefined) at = this.#document.components.schemas[at.$ref.split('/').at(-1)]
    return at
  }
}

function sampleText({ format, pattern, minLength }: Json): string {
  if (format === 'uuid') return '11111111-2222-4333-8444-555555555555'
  if (format === 'date-time') return '2026-01-01T00:00:00Z'
  if (format === 'uri') return 'http://127.0.0.1:9/'
  if (pattern?.includes('{8}')) return '11111111-2222-4333-8444-555555555555'
  return 'a'.repeat(Math.max(1, minLength ?? 1))
}
