/**
 * Unions discriminated by one member, with failures in the 422 format: one failure of the union as a whole, or the
 * failures of the
 * chosen variant. Issues carry `IssueParams` (see `lax.ts`). Source: conversation-service.md 5.5 and 7.3.
 */
import { z } from 'zod'
import { isRecord } from './is-record.ts'
import type { IssueParams } from './lax.ts'
import { MAX_ISSUES } from './lists.ts'

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

/**
 * Reads `value` with `schema`: its output, and its first issues, at most {@link MAX_ISSUES}, whose paths start at the value. With
 * issues the output has no meaning.
 */
export function outcomeOf(
  schema: z.core.$ZodTypeDiscriminable | z.core.$ZodType,
  value: unknown,
): { output: unknown; issues: RawIssue[] } {
  const result = schema._zod.run({ value, issues: [] }, { async: false })
  if (result instanceof Promise) throw new Error('schemas of this package are synchronous')
  const issues = result.issues.slice(0, MAX_ISSUES).flatMap(extraForbidden).slice(0, MAX_ISSUES)
  return { output: result.value, issues }
}

const Reader = z.core.$constructor<z.ZodPipe, z.core.$ZodPipeDef>('Reader', (inst, def) => {
  z.ZodPipe.init(inst, def)
  inst._zod.parse = (payload, ctx) => def.in._zod.run(payload, ctx)
})

/** A schema that parses with `read` alone; `shape` replaces it in the documentation and in the types. */
export const reader = <T extends z.ZodType>(
  read: (value: unknown, ctx: z.core.$RefinementCtx) => unknown,
  shape: T,
): T => new Reader({ type: 'pipe', in: z.transform(read), out: shape }) as unknown as T

/** As issues of this format, unknown members have a path of their own. */
function extraForbidden(issue: RawIssue): RawIssue[] {
  if (issue.code !== 'unrecognized_keys') return [issue]
  const owner = issue.input as Record<string, unknown>
  return issue.keys.slice(0, MAX_ISSUES).map((key) => ({
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
  const choose = (value: unknown, ctx: z.core.$RefinementCtx) => {
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
    const { output, issues } = outcomeOf(variant, value)
    for (const issue of issues) ctx.issues.push(tagged(issue, tag))
    return output
  }
  return reader(choose, discriminated(member, variants))
}

/** Text, or what `schema` reads; anything that is neither fails as text does. */
export function textOr<T extends z.ZodType>(schema: T): z.ZodType<string | z.output<T>, string | z.input<T>> {
  const choose = (value: unknown, ctx: z.core.$RefinementCtx) => {
    if (typeof value === 'string') return value
    if (isRecord(value)) {
      const { output, issues } = outcomeOf(schema, value)
      ctx.issues.push(...issues)
      return output
    }
    const refuse = refuser(ctx, value)
    if (value === undefined) return refuse('Field required', { type: 'missing' })
    return refuse('Input should be a valid string', { type: 'string_type' })
  }
  return reader(choose, z.union([z.string(), schema]))
}
