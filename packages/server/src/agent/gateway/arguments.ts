/** Parses the arguments of a model's call leniently and repairs them against the schema of the tool. Pure. */
import { isRecord } from '@parley/protocol'
import type { JsonSchema } from '../../tools/index.ts'
import { propertiesOf } from '../../tools/index.ts'

export type Arguments = Record<string, unknown>

/** Misspellings of `security_risk` that models are known to produce. Source: agent-core.md 1.7. */
const MISSPELLED_RISK = ['security_rort', 'securtiy_risk', 'security_riks']

/**
 * Returns the arguments as an object; null when the text is not JSON even with its raw control characters escaped.
 * Blank text and JSON that is not an object mean no arguments. `isVerbatim`: the text can be stored unchanged.
 */
export function parseArguments(text: string): { args: Arguments; isVerbatim: boolean } | null {
  if (text.trim() === '') return { args: {}, isVerbatim: false }
  const value = parseJson(text)
  if (value === undefined) return null
  return isRecord(value.json) ? { args: value.json, isVerbatim: value.isVerbatim } : { args: {}, isVerbatim: false }
}

/** Drops arguments that are null, and corrects the name of the risk argument. */
export function tidyArguments(args: Arguments): Arguments {
  const kept = Object.fromEntries(Object.entries(args).filter(([, value]) => value !== null))
  const wrong = MISSPELLED_RISK.filter((name) => name in kept)
  if (wrong.length === 0) return kept
  const { [wrong[0]!]: risk } = kept
  const rest = Object.fromEntries(Object.entries(kept).filter(([name]) => !wrong.includes(name)))
  return 'security_risk' in rest ? rest : { security_risk: risk, ...rest }
}

/**
 * Repairs arguments that are encoded once too often or too little: a list, object, number or boolean given as text is parsed; a
 * list of strings given for a text is joined. A field that may be text stays unchanged. Source: agent-core.md 1.7.
 */
export function repairArguments(args: Arguments, schema: JsonSchema): Arguments {
  const properties = propertiesOf(schema)
  return Object.fromEntries(
    Object.entries(args).map(([name, value]) => [name, repairValue(value, typesOf(properties[name]))]),
  )
}

function repairValue(value: unknown, types: ReadonlySet<string>): unknown {
  if (typeof value === 'string' && !types.has('string')) {
    if (types.has('array') || types.has('object')) return decodeNested(value) ?? value
    return readScalar(value.trim().toLowerCase(), types) ?? value
  }
  const isTextOnly = types.has('string') && types.size === 1
  if (isTextOnly && Array.isArray(value) && value.every((item) => typeof item === 'string')) return value.join('')
  return value
}

function readScalar(text: string, types: ReadonlySet<string>): boolean | number | undefined {
  if (types.has('boolean') && (text === 'true' || text === 'false')) return text === 'true'
  const isNumeric = types.has('number') || types.has('integer')
  return isNumeric && /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : undefined
}

/** Parses the JSON text of a list or an object, also with trailing characters; undefined for anything else. */
function decodeNested(text: string): unknown {
  const upTo = (end: string): string => text.slice(0, text.lastIndexOf(end) + 1)
  for (const candidate of [text, upTo('}'), upTo(']')]) {
    const parsed = parseJson(candidate)
    if (parsed !== undefined) return typeof parsed.json === 'object' && parsed.json !== null ? parsed.json : undefined
  }
  return undefined
}

function parseJson(text: string): { json: unknown; isVerbatim: boolean } | undefined {
  try {
    return { json: JSON.parse(text), isVerbatim: true }
  } catch {
    // Models write raw line breaks and tabs inside strings; the second attempt escapes them.
  }
  try {
    return { json: JSON.parse(escapeControls(text)), isVerbatim: false }
  } catch {
    return undefined
  }
}

/** Escapes raw control characters inside JSON strings; white space between tokens stays. */
function escapeControls(text: string): string {
  let inString = false
  let isEscaped = false
  let out = ''
  for (const char of text) {
    if (inString && char < ' ') {
      out += `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
      isEscaped = false
      continue
    }
    if (isEscaped) isEscaped = false
    else if (inString && char === '\\') isEscaped = true
    else if (char === '"') inString = !inString
    out += char
  }
  return out
}

function typesOf(schema: unknown): Set<string> {
  if (!isRecord(schema)) return new Set()
  const options = [schema['anyOf'], schema['oneOf']].filter((list) => Array.isArray(list)).flat()
  const own = Array.isArray(schema['type']) ? schema['type'] : [schema['type']]
  const names = own.filter((name) => typeof name === 'string' && name !== 'null') as string[]
  return new Set([...names, ...options.flatMap((option) => [...typesOf(option)])])
}
