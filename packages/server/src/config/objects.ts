import { ConfigError } from './error.ts'
import type { Given } from './values.ts'

/** The object, or the object in a JSON text; null for another value. @param example a value that is accepted */
export function objectIn({ value, origin }: Given, example: string): Record<string, unknown> | null {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  if (typeof value !== 'string' || !value.trimStart().startsWith('{')) return null
  try {
    return JSON.parse(value) as Record<string, unknown>
  } catch {
    throw new ConfigError(`${origin} begins like a JSON object but is none; write ${example}`)
  }
}
