/**
 * The only conversion of a request to typed values, and of a failed one to the 422 format. The first {@link MAX_ISSUES} failures are
 * collected; path before query before body. Source: conversation-service.md 7.
 */
import { MAX_ISSUES, MAX_JSON_VALUES, ParleyError, type ValidationError } from '@parley/protocol'
import type { z } from 'zod'
import { type Entry, entriesOf, type Loc, published, type RawIssue } from './issue-entries.ts'
import type { JsonBody } from './json-body.ts'
import { SafeInputs } from './safe-input.ts'

/** Invalid input of a caller. Only this module creates it: a ZodError from elsewhere is a bug of the server. */
export class InvalidInput extends Error {
  readonly detail: readonly ValidationError[]
  /** Facts for programs, beside `detail` in the answer. */
  readonly details: Readonly<Record<string, unknown>>
  constructor(entries: readonly Entry[], details: Readonly<Record<string, unknown>> = {}) {
    super('the request does not have the shape that this operation reads')
    this.name = 'InvalidInput'
    this.details = details
    const inputs = new SafeInputs()
    this.detail = entries.slice(0, MAX_ISSUES).map((entry) => published(entry, inputs.of(entry)))
  }
}

export type Read<T> = { value: T; entries: [] } | { value: undefined; entries: Entry[] }

/** Reads `input` with `schema`; never throws for bad input. `where` is the first segment of every `loc`. */
export function read<S extends z.ZodType>(schema: S, input: unknown, where: Loc): Read<z.output<S>> {
  // The schema is run one level below `safeParse`, where issues still have their input and their schema.
  const result = schema._zod.run({ value: input, issues: [] }, { async: false })
  if (result instanceof Promise) throw new Error('a request schema must be synchronous')
  if (result.issues.length === 0) return { value: result.value as z.output<S>, entries: [] }
  const entries: Entry[] = []
  for (const issue of result.issues) {
    entries.push(...entriesOf(issue as RawIssue, input, where))
    if (entries.length >= MAX_ISSUES) break
  }
  return { value: undefined, entries: entries.slice(0, MAX_ISSUES) }
}

/** Reads the members of a query string; a repeated name is an array only where the schema expects one. */
export function readQuery<S extends z.ZodType>(schema: S, query: Readonly<Record<string, unknown>>): Read<z.output<S>> {
  const shape = (schema as { shape?: Record<string, z.ZodType> }).shape ?? {}
  const given = Object.fromEntries(
    Object.entries(query).map(([name, value]) => {
      const field = shape[name]
      if (field !== undefined && isList(field)) return [name, Array.isArray(value) ? value : [value]]
      return [name, Array.isArray(value) ? value.at(-1) : value]
    }),
  )
  return read(schema, given, ['query'])
}

/**
 * Reads a JSON body.
 * @param optional accepts an empty body, which the schema reads as `{}`
 * @throws ParleyError `bad_request` for bytes that are not text, `too_large` for too many values; the caller throws
 * {@link InvalidInput} with the other parts.
 */
export function readBody<S extends z.ZodType>(schema: S, body: JsonBody, optional: boolean): Read<z.output<S>> {
  switch (body.kind) {
    case 'unreadable':
      throw new ParleyError('bad_request', 'There was an error parsing the body')
    case 'too_many':
      throw new ParleyError('too_large', `Request body has more than ${MAX_JSON_VALUES} JSON values`)
    case 'malformed': {
      const { offset, reason } = body
      const entry = {
        type: 'json_invalid',
        loc: ['body', offset],
        msg: 'JSON decode error',
        input: {},
        ctx: { error: reason },
      }
      return { value: undefined, entries: [entry] }
    }
    case 'absent':
      return optional ? read(schema, {}, ['body']) : required()
    case 'text':
    case 'value':
      if (body.value !== null) return read(schema, body.value, ['body'])
      return optional ? read(schema, {}, ['body']) : required()
  }
}

const required = (): Read<never> => ({
  value: undefined,
  entries: [{ type: 'missing', loc: ['body'], msg: 'Field required', input: null }],
})

/** True when a field expects a list, without its optional wrappers. */
function isList(schema: z.ZodType): boolean {
  const def = schema._zod.def as { type: string; innerType?: z.ZodType; in?: z.ZodType; out?: z.ZodType }
  if (def.type === 'array') return true
  if (def.innerType !== undefined) return isList(def.innerType)
  return def.type === 'pipe' && [def.in, def.out].some((side) => side !== undefined && isList(side))
}
