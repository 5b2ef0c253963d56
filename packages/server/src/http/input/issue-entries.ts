/**
 * Conversion of one zod issue to entries of the 422 format. Source: conversation-service.md 7.3.
 *
 * The protocol's own scalars and unions carry the texts of the format in `params`; texts for zod's own issues are here.
 */
import { MAX_ISSUES, type ValidationError } from '@parley/protocol'
import type { z } from 'zod'

export type Loc = (string | number)[]
/**
 * An entry before its input is made safe to send back. `omit`: members of the input that are left out. `inputAt`: place of the input,
 * where it is a value around the place of the entry.
 */
export type Entry = {
  type: string
  loc: Loc
  msg: string
  input: unknown
  ctx?: Record<string, unknown>
  omit?: readonly string[]
  inputAt?: Loc
}
/** An issue as a schema raised it, with its input and its schema, which `ZodError` drops. */
export type RawIssue = z.core.$ZodRawIssue

type Params = {
  type?: string
  ctx?: Record<string, unknown>
  omit?: readonly string[]
  tags?: readonly { tag: string; fromEnd: number }[]
  owner?: unknown
}

/** The entries of `issue`, whose path starts at `root`; `where` comes first in every `loc`. */
export function entriesOf(issue: RawIssue, root: unknown, where: Loc): Entry[] {
  const path = (issue.path ?? []) as Loc
  const params = (issue as { params?: Params }).params ?? {}
  const loc = [...where, ...tagged(path, params.tags ?? [])]
  const input = inputOf(issue, root, path)
  const one = (type: string, msg: string, ctx?: Record<string, unknown>): Entry[] => [
    { type, loc, msg, input, ...(ctx && { ctx }), ...(params.omit && { omit: params.omit }) },
  ]
  const missing = (): Entry[] => [
    {
      type: 'missing',
      loc,
      msg: 'Field required',
      input: path.length === 0 ? null : (params.owner ?? valueAt(root, path.slice(0, -1))),
    },
  ]

  if (params.type === 'missing') return missing()
  if (params.type !== undefined) return one(params.type, messageOf(issue), params.ctx)
  switch (issue.code) {
    case 'invalid_type':
      return input === undefined ? missing() : one(...wrongType(issue, input))
    case 'unrecognized_keys':
      return issue.keys.slice(0, MAX_ISSUES).map((key) => ({
        type: 'extra_forbidden',
        loc: [...loc, key],
        msg: 'Extra inputs are not permitted',
        input: valueAt(input, [key]),
      }))
    case 'invalid_value':
      if (input === undefined) return missing()
      return one(defType(issue.inst) === 'enum' ? 'enum' : 'literal_error', `Input should be ${quoted(issue.values)}`, {
        expected: quoted(issue.values),
      })
    case 'too_small':
      return tooSmall(issue, input, loc, one)
    case 'too_big':
      return tooBig(issue, input, one)
    case 'not_multiple_of':
      return one('multiple_of', `Input should be a multiple of ${issue.divisor}`, { multiple_of: issue.divisor })
    case 'invalid_format':
      return one(...wrongFormat(issue))
    case 'invalid_key':
      return issue.issues.flatMap((inner) =>
        entriesOf({ ...inner, path: [] } as RawIssue, path.at(-1), [...loc, '[key]']),
      )
    case 'invalid_element':
      return issue.issues.flatMap((inner) => entriesOf({ ...inner, path: [] } as RawIssue, input, loc))
    case 'invalid_union':
      return input === undefined ? missing() : union(issue, loc, input, one)
    default:
      // The format gives the text in `msg` alone; `ctx.error` is always an empty object.
      return one('value_error', `Value error, ${messageOf(issue)}`, { error: {} })
  }
}

/**
 * The refused input as the caller sent it, without the defaults that a check of parsed values sees. The input of other issues takes
 * precedence over the body, in which secrets may be part of a text.
 */
function inputOf(issue: RawIssue, root: unknown, path: Loc): unknown {
  const isCheck = defType(issue.inst) === 'custom'
  const sent = isCheck || issue.input === undefined ? valueAt(root, path) : undefined
  return sent ?? issue.input
}

/** The value at `path` under `root`; undefined when there is none. */
function valueAt(root: unknown, path: readonly PropertyKey[]): unknown {
  let value = root
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = (value as Record<PropertyKey, unknown>)[key]
  }
  return value
}

/** `'a', 'b' or 'c'`. */
function quoted(values: readonly unknown[]): string {
  const words = values.map((value) => (typeof value === 'string' ? `'${value}'` : String(value)))
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
}

function tagged(path: Loc, tags: readonly { tag: string; fromEnd: number }[]): Loc {
  const loc = [...path]
  for (const { tag, fromEnd } of [...tags].sort((a, b) => a.fromEnd - b.fromEnd))
    loc.splice(path.length - fromEnd, 0, tag)
  return loc
}

/** The text of a custom issue is in the issue or in the schema that raised it. */
function messageOf(issue: RawIssue): string {
  if (issue.message !== undefined) return issue.message
  const made = issue.inst?._zod.def.error?.(issue as never)
  return (typeof made === 'string' ? made : made?.message) ?? 'Invalid input'
}

const defType = (schema: unknown): string | undefined =>
  (schema as { _zod?: { def?: { type?: string } } } | undefined)?._zod?.def?.type

type EntryText = [type: string, msg: string, ctx?: Record<string, unknown>]
type One = (...text: EntryText) => Entry[]

const TYPE_WORDS: Record<string, EntryText> = {
  string: ['string_type', 'Input should be a valid string'],
  number: ['float_type', 'Input should be a valid number'],
  int: ['int_type', 'Input should be a valid integer'],
  boolean: ['bool_type', 'Input should be a valid boolean'],
  array: ['list_type', 'Input should be a valid list'],
  tuple: ['tuple_type', 'Input should be a valid tuple'],
  set: ['set_type', 'Input should be a valid set'],
  record: ['dict_type', 'Input should be a valid dictionary'],
  object: ['model_attributes_type', 'Input should be a valid dictionary or object to extract fields from'],
}

function wrongType(issue: RawIssue & { code: 'invalid_type' }, input: unknown): EntryText {
  if (typeof input === 'number' && !Number.isFinite(input)) return ['finite_number', 'Input should be a finite number']
  if (issue.expected === 'int' && typeof input === 'number')
    return ['int_from_float', 'Input should be a valid integer, got a number with a fractional part']
  return TYPE_WORDS[issue.expected] ?? ['value_error', `Value error, ${issue.expected} expected`, { error: {} }]
}

const plural = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`

function tooSmall(issue: RawIssue & { code: 'too_small' }, input: unknown, loc: Loc, one: One): Entry[] {
  const least = Number(issue.minimum)
  if (issue.origin === 'string')
    return one('string_too_short', `String should have at least ${plural(least, 'character')}`, { min_length: least })
  if (Array.isArray(input)) {
    if (defType(issue.inst) === 'tuple')
      return Array.from({ length: least - input.length }, (_, at) => ({
        type: 'missing',
        loc: [...loc, input.length + at],
        msg: 'Field required',
        input,
      }))
    return one(
      'too_short',
      `List should have at least ${plural(least, 'item')} after validation, not ${input.length}`,
      {
        field_type: 'List',
        min_length: least,
        actual_length: input.length,
      },
    )
  }
  return issue.inclusive === false
    ? one('greater_than', `Input should be greater than ${least}`, { gt: least })
    : one('greater_than_equal', `Input should be greater than or equal to ${least}`, { ge: least })
}

function tooBig(issue: RawIssue & { code: 'too_big' }, input: unknown, one: One): Entry[] {
  const most = Number(issue.maximum)
  if (issue.origin === 'string')
    return one('string_too_long', `String should have at most ${plural(most, 'character')}`, { max_length: most })
  if (Array.isArray(input)) {
    const field_type = defType(issue.inst) === 'tuple' ? 'Tuple' : 'List'
    const msg = `${field_type} should have at most ${plural(most, 'item')} after validation, not ${input.length}`
    return one('too_long', msg, { field_type, max_length: most, actual_length: input.length })
  }
  return issue.inclusive === false
    ? one('less_than', `Input should be less than ${most}`, { lt: most })
    : one('less_than_equal', `Input should be less than or equal to ${most}`, { le: most })
}

function wrongFormat(issue: RawIssue & { code: 'invalid_format' }): EntryText {
  const pattern = (issue as { pattern?: string | RegExp }).pattern
  if (issue.format === 'regex' && pattern !== undefined) {
    const source = typeof pattern === 'string' ? pattern.replace(/^\/(.*)\/[a-z]*$/s, '$1') : pattern.source
    return ['string_pattern_mismatch', `String should match pattern '${source}'`, { pattern: source }]
  }
  return ['value_error', `Value error, not a valid ${issue.format}`, { error: {} }]
}

/** A tagged union fails on its tag; an untagged one reports the issues of every branch. */
function union(issue: RawIssue & { code: 'invalid_union' }, loc: Loc, input: unknown, one: One): Entry[] {
  const discriminator = (issue as { discriminator?: string }).discriminator
  if (discriminator !== undefined) {
    const at = loc.slice(0, -1)
    const tag = valueAt(input, [discriminator])
    const shown = typeof tag === 'string' ? tag : JSON.stringify(tag)
    const name = `'${discriminator}'`
    const here = (...text: EntryText) => one(...text).map((entry) => ({ ...entry, loc: at }))
    if (tag === undefined)
      return here('union_tag_not_found', `Unable to extract tag using discriminator ${name}`, { discriminator: name })
    const expected = ((issue as { options?: unknown[] }).options ?? []).map((value) => `'${String(value)}'`).join(', ')
    return here(
      'union_tag_invalid',
      `Input tag '${shown}' found using ${name} does not match any of the expected tags: ${expected}`,
      { discriminator: name, tag: shown, expected_tags: expected },
    )
  }
  const entries = branchesOf(issue, input).flatMap(({ label, issues }) =>
    issues.flatMap((inner) => entriesOf(inner, input, label === null ? loc : [...loc, label])),
  )
  return entries.length > 0
    ? entries
    : one('value_error', 'Value error, matches more than one alternative', { error: {} })
}

/**
 * The issues of each branch of an untagged union. A union drops the schemas and inputs of its branches' issues, which a nested
 * union needs; so each branch parses the input once more. A union inside a union has no name of its own.
 */
function branchesOf(
  issue: RawIssue & { code: 'invalid_union' },
  input: unknown,
): { label: string | null; issues: readonly RawIssue[] }[] {
  const options = (issue.inst?._zod.def as { options?: readonly z.core.$ZodType[] } | undefined)?.options
  // A finished issue has only paths and texts left.
  if (options === undefined)
    return (issue.errors ?? []).map((errors, branch) => ({
      label: String(branch),
      issues: errors.map((inner) => ({ ...inner, input: valueAt(input, inner.path) }) as RawIssue),
    }))
  return options.map((option) => {
    const result = option._zod.run({ value: input, issues: [] }, { async: false })
    const label = defType(option) === 'union' ? null : branchLabel(option)
    return { label, issues: result instanceof Promise ? [] : result.issues }
  })
}

const LABELS: Record<string, string> = { string: 'str', number: 'float', int: 'int', boolean: 'bool', record: 'dict' }

/** The format's name of a branch: a scalar's short name, `list[…]`, or the model's own name. */
function branchLabel(schema: unknown): string {
  const type = defType(schema) ?? 'value'
  const meta = (schema as { meta?: () => { id?: string; title?: string } | undefined } | undefined)?.meta?.()
  if (meta?.id !== undefined || meta?.title !== undefined) return meta.id ?? meta.title ?? type
  const { innerType, element, out } = (
    schema as { _zod: { def: { innerType?: unknown; element?: unknown; out?: unknown } } }
  )._zod.def
  if (innerType !== undefined) return branchLabel(innerType)
  if (element !== undefined) return `list[${branchLabel(element)}]`
  if (type === 'pipe' && out !== undefined) return branchLabel(out)
  return LABELS[type] ?? type
}

/** Names in `loc`, and texts, can come from the request; longer ones are shortened, in characters. */
const MAX_NAME_CHARS = 256
const MAX_TEXT_CHARS = 4_096

const cut = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, most).toWellFormed()}…`

/** The published form of an entry, members in the format's order. */
export function published(entry: Entry, input: unknown): ValidationError {
  const { type, msg, ctx } = entry
  const loc = entry.loc.map((part) => (typeof part === 'string' ? cut(part, MAX_NAME_CHARS) : part))
  const facts = Object.entries(ctx ?? {}).map(([name, fact]) => [
    name,
    typeof fact === 'string' ? cut(fact, MAX_TEXT_CHARS) : fact,
  ])
  return {
    type,
    loc,
    msg: cut(msg, MAX_TEXT_CHARS),
    input,
    ...(ctx !== undefined && { ctx: Object.fromEntries(facts) as Record<string, unknown> }),
  }
}
