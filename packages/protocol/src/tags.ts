/** Labels of a conversation. Source: interface.md, Limits. */
import { z } from 'zod'
import { isLonger, refusedValue } from './lax-text.ts'
import { no, ok, scalar, type Read } from './lax.ts'
import { map } from './lists.ts'

const KEY = /^[a-z0-9]+$/
const MAX_VALUE = 256

function read(value: unknown): Read<Record<string, string>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return no('dict_type', 'Input should be a valid dictionary')
  for (const [key, tag] of Object.entries(value)) {
    if (!KEY.test(key)) return refusedValue(`Tag key '${key}' is invalid: keys must be lowercase alphanumeric`)
    if (typeof tag !== 'string') return refusedValue(`Value of tag '${key}' must be a string`)
    if (isLonger(tag, MAX_VALUE)) return refusedValue(`Value of tag '${key}' is longer than ${MAX_VALUE} characters`)
  }
  return ok(value as Record<string, string>)
}

/** Keys of lower-case letters and digits; values of up to 256 characters. */
export const Tags = scalar(read, map(z.string()))
export type Tags = z.infer<typeof Tags>

/** Tags in records: null, which some writers send, means no tags. Source: conversation-service.md 5.5. */
export const tagsField = () =>
  Tags.nullable()
    .default({})
    .transform((tags) => tags ?? {})
