/**
 * Checks arguments of an MCP tool against the schema from its server. The check helps the model; the server decides.
 */
import { invalidInput } from '@parley/protocol'
import type { JsonSchema } from '../schema.ts'

/** Larger schemas are not checked. */
const MAX_SCHEMA_CHARS = 200_000

/** Returns the error in arguments; null for valid ones. */
export type Check = (args: Record<string, unknown>) => string | null

/**
 * Loads the library and resolves to a factory of checks. A check is compiled at its first use, and one that cannot be
 * compiled
 * accepts everything. Patterns are left to the server: an untrusted expression may take any time.
 */
export async function loadChecker(): Promise<(schema: JsonSchema) => Check> {
  const { AjvJsonSchemaValidator } = await import('@modelcontextprotocol/client/validators/ajv')
  const compile = (schema: JsonSchema): Check => {
    if (JSON.stringify(schema).length > MAX_SCHEMA_CHARS) return () => null
    const validate = new AjvJsonSchemaValidator().getValidator(withoutPatterns(schema) as JsonSchema)
    return (args) => {
      const { valid, errorMessage } = validate(args)
      return valid ? null : (errorMessage ?? 'they do not fit the schema of the tool')
    }
  }
  return (schema) => {
    let made: Check | null = null
    return (args) => {
      try {
        return (made ??= compile(schema))(args)
      } catch {
        // An invalid or circular schema: the server will report what it rejects.
        made = () => null
        return null
      }
    }
  }
}

/** @throws ParleyError `invalid_input` with the error. */
export function expectFitting(check: Check, args: Record<string, unknown>): void {
  const wrong = check(args)
  if (wrong !== null) throw invalidInput(wrong)
}

const NAMED = new Set(['properties', '$defs', 'definitions', 'dependentSchemas'])
const SLOW = new Set(['pattern', 'patternProperties', 'format', '$id', 'id'])

/** Removes keywords that contain expressions, and names that schemas would share. */
function withoutPatterns(node: unknown, isNamed = false): unknown {
  if (Array.isArray(node)) return node.map((item: unknown) => withoutPatterns(item))
  if (typeof node !== 'object' || node === null) return node
  return Object.fromEntries(
    Object.entries(node)
      .filter(([key, value]) => isNamed || !SLOW.has(key) || (typeof value !== 'string' && key !== 'patternProperties'))
      .map(([key, value]) => [
        key,
        key === 'const' || key === 'enum' || key === 'default'
          ? (value as unknown)
          : withoutPatterns(value, !isNamed && NAMED.has(key)),
      ]),
  )
}
