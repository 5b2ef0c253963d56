/** Reads a request body as JSON; the schema is applied later, in `validation.ts`. Source: conversation-service.md 7.2. */
import { isUtf8 } from 'node:buffer'
import { findJsonFault, MAX_JSON_DEPTH } from './json-scan.ts'

export type JsonBody =
  /** No bytes. Routes that need a body answer `missing`; others accept it. */
  | { kind: 'absent' }
  | { kind: 'value'; value: unknown }
  /** Not declared as JSON: the body counts as a text, and fails where an object is expected. */
  | { kind: 'text'; value: string }
  /** 422 `json_invalid`. `offset` counts code points. */
  | { kind: 'malformed'; offset: number; reason: string }
  /** 400: not UTF-8, or nested too deep. */
  | { kind: 'unreadable' }

/**
 * Reads the bytes of a body. Never throws.
 * @param contentType the header; a body without one counts as JSON, because older clients rely on that
 */
export function readJsonBody(bytes: Buffer | undefined, contentType: string | undefined): JsonBody {
  if (bytes === undefined || bytes.length === 0) return { kind: 'absent' }
  if (!isUtf8(bytes)) return { kind: 'unreadable' }
  const decoded = bytes.toString('utf8')
  const text = decoded.charCodeAt(0) === 0xfeff ? decoded.slice(1) : decoded
  if (contentType !== undefined && !isJsonType(contentType)) return { kind: 'text', value: text }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // The scanner finds the offset and the text that clients know; those of `JSON.parse` differ.
    return fault(text)
  }
  return isBearable(value, MAX_JSON_DEPTH) ? { kind: 'value', value } : fault(text)
}

/** `application/json` and `application/<anything>+json`, with or without parameters. */
function isJsonType(contentType: string): boolean {
  return /^\s*application\/(?:[^;\s]+\+)?json\s*(?:;|$)/i.test(contentType)
}

function fault(text: string): JsonBody {
  const found = findJsonFault(text)
  if (found === null) return { kind: 'malformed', offset: 0, reason: 'Expecting value' }
  return found.kind === 'too_deep'
    ? { kind: 'unreadable' }
    : { kind: 'malformed', offset: found.offset, reason: found.reason }
}

/** True when no number overflowed (`1e400`) and the nesting is at most `left` levels. */
function isBearable(value: unknown, left: number): boolean {
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object' || value === null) return true
  if (left === 0) return false
  if (Array.isArray(value)) return value.every((item) => isBearable(item, left - 1))
  for (const key in value) if (!isBearable((value as Record<string, unknown>)[key], left - 1)) return false
  return true
}
