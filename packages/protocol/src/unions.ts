/**
 * Unions discriminated by one member, with failures in the 422 format: one failure of the union as a whole, or the
 * failures of the
 * chosen variant. Issues carry `IssueParams` (see `lax.ts`). Source: conversation-service.md 5.5 and 7.3.
 */
import { z } from 'zod'
import { isRecord } from './is-record.ts'
import type { IssueParams } from './lax.ts'

type Variants = Readonly<Record<string, z.core.$ZodTypeDiscriminable>>
type Union<V extends Variants> = z.ZodType<z.output<V[keyof V]>, z.input<V[keyof V]>>

const quoted = (words: readonly string[]) => words.map((word) => `'${word}'`).join(', ')

type Refuse = (message: string, params: IssueParams) => void

const refuser =
  (ctx: z.core.$RefinementCtx, input: unknown): Refuse =>
  (message, params) =>
    ctx.addIssue({ code: 'custom', input, message, params })

const refuseShape = (value: unknown, refuse: Refuse) =>
  value === undefined
    ? refuse('Field required', { type: 'missing' })
    : refuse('Input should be a valid dictionary or object to extract fields from', { type: 'model_attributes_type' })

/** Returns a zod union of the variants, discriminated by `member`. */
function discriminated<V extends Variants>(member: string, variants: V): Union<V> {
  const options = Object.values(variants) as unknown as [z.core.$ZodTypeDiscriminable]
  return z.discriminatedUnion(member, options) as unknown as Union<V>
}

/**
 * A union by `kind`. A missing or unknown kind is one `value_error` on the union itself that lists the known kinds, sorted.
 * `assume` names the kind of a value that carries none; without it a lone variant is assumed.
 */
export function kindUnion<V extends Variants>(
  name: string,
  variants: V,
  assume?: (value: Readonly<Record<string, unknown>>) => string | undefined,
): Union<V> {
  const kinds = Object.keys(variants).toSorted()
  const lone = kinds.length === 1 ? kinds[0] : undefined
  const choose = z.transform((value: unknown, ctx) => {
    const refuse = refuser(ctx, value)
    if (!isRecord(value)) return refuseShape(value, refuse)
    const kind = value['kind'] ?? assume?.(value) ?? lone ?? ''
    if (typeof kind === 'string' && Object.hasOwn(variants, kind))
      return kind === value['kind'] ? value : { ...value, kind }
    const shown = typeof kind === 'string' ? kind : JSON.stringify(kind)
    const message = `Value error, Unknown kind '${shown}' for ${name}; Expected one of: [${quoted(kinds)}]`
    return refuse(message, { type: 'value_error', ctx: { error: {} }, omit: ['kind'] })
  })
  return z.pipe(choose, discriminated('kind', variants) as never) as unknown as Union<V>
}

type RawIssue = z.core.$ZodRawIssue

/** Returns the issues of `value` under `schema`; paths start at the value. */
export function issuesOf(schema: z.core.$ZodTypeDiscriminable | z.core.$ZodType, value: unknown): RawIssue[] {
  const result = schema._zod.run({ value, issues: [] }, { async: false })
  if (result instanceof Promise) throw new Error('schemas of this package are synchronous')
  return result.issues.flatMap(extraForbidden)
}

/** Zod continues a pipe after unknown members, which would be reported twice; as issues of this format they stop it. */
function extraForbidden(issue: RawIssue): RawIssue[] {
  if (issue.code !== 'unrecognized_keys') return [issue]
  const owner = issue.input as Record<string, unknown>
  return issue.keys.map((key) => ({
    code: 'custom',
    path: [...(issue.path ?? []), key],
    input: owner[key],
    message: 'Extra inputs are not permitted',
    params: { type: 'extra_forbidden' } satisfies IssueParams,
  }))
}

/** An issue found inside a variant, with the variant's tag to be inserted into `loc`. */
function tagged(issue: RawIssue, tag: string): RawIssue {
  const params = (issue as { params?: Partial<IssueParams> }).params
  const tags = [{ tag, fromEnd: issue.path?.length ?? 0 }, ...(params?.tags ?? [])]
  return { ...issue, params: { ...params, tags } } as RawIssue
}

/**
 * A union by the tag in `member`. A missing tag is `union_tag_not_found`, an unknown one `union_tag_invalid`; failures inside a
 * variant carry the tag in `params.tags`.
 */
export function tagUnion<V extends Variants>(member: string, variants: V): Union<V> {
  const known = quoted(Object.keys(variants))
  const discriminator = `'${member}'`
  const choose = z.transform((value: unknown, ctx) => {
    const refuse = refuser(ctx, value)
    if (!isRecord(value)) return refuseShape(value, refuse)
    const tag = value[member]
    if (tag === undefined) {
      const message = `Unable to extract tag using discriminator ${discriminator}`
      return refuse(message, { type: 'union_tag_not_found', ctx: { discriminator } })
    }
    const variant = typeof tag === 'string' && Object.hasOwn(variants, tag) ? variants[tag] : undefined
    if (typeof tag !== 'string' || variant === undefined) {
      const shown = typeof tag === 'string' ? tag : JSON.stringify(tag)
      const message = `Input tag '${shown}' found using ${discriminator} does not match any of the expected tags: ${known}`
      return refuse(message, { type: 'union_tag_invalid', ctx: { discriminator, tag: shown, expected_tags: known } })
    }
    for (const issue of issuesOf(variant, value)) ctx.issues.push(tagged(issue, tag))
    return value
  })
  return z.pipe(choose, discriminated(member, variants) as never) as unknown as Union<V>
}

/** Text, or what `schema` reads; anything that is neither fails as text does. */
export function textOr<T extends z.ZodType>(schema: T): z.ZodType<string | z.output<T>, string | z.input<T>> {
  const choose = z.transform((value: unknown, ctx) => {
    if (typeof value === 'string') return value
    if (isRecord(value)) for (const issue of issuesOf(schema, value)) ctx.issues.push(issue)
    else if (value === undefined) refuser(ctx, value)('Field required', { type: 'missing' })
    else refuser(ctx, value)('Input should be a valid string', { type: 'string_type' })
    return value
  })
  return z.pipe(choose, z.union([z.string(), schema]) as never) as unknown as z.ZodType<
    string | z.output<T>,
    string | z.input<T>
  >
}
