/** Arguments of an MCP tool against the schema that its server gave. The server has the last word; this is for the model's sake. */
import { ParleyError } from '@parley/protocol'
import type { JsonSchema } from '../schema.ts'

/** Larger schemas are not worth the time. */
const MAX_SCHEMA_CHARS = 200_000

/** Says what is wrong with arguments; null: nothing. */
export type Check = (args: Record<string, unknown>) => string | null

/**
 * Loads the library; the result makes checks for schemas. A check is compiled when it is first used, and one that cannot be
 * compiled lets everything pass. Patterns are left to the server: a stranger's expression may take any time.
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
        // No schema, or one that runs in circles: the server will say what it does not like.
        made = () => null
        return null
      }
    }
  }
}

/** @throws ParleyError `invalid_input` with what is wrong. */
export function expectFitting(check: Check, args: Record<string, unknown>): void {
  const wrong = check(args)
  if (wrong !== null) throw new ParleyError('invalid_input', wrong)
}

const NAMED = new Set(['properties', '$defs', 'definitions', 'dependentSchemas'])
const SLOW = new Set(['pattern', 'patternProperties', 'format', '$id', 'id'])

/** Without keywords that are expressions, and without names that would be shared between schemas. */
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
