/** Reads a request body as JSON the way conversation-service.md 7.2 says; the schema comes afterwards, in `validation.ts`. */
import { isUtf8 } from 'node:buffer'
import { findJsonFault, MAX_JSON_DEPTH } from './json-scan.ts'

export type JsonBody =
  /** No bytes at all. Routes that need a body answer `missing`, the others go on without. */
  | { kind: 'absent' }
  | { kind: 'value'; value: unknown }
  /** Not declared as JSON: the text stands for itself, and fails where an object is expected. */
  | { kind: 'text'; value: string }
  /** 422 `json_invalid`. `offset` counts code points. */
  | { kind: 'malformed'; offset: number; reason: string }
  /** 400: not UTF-8, or nested beyond reason. */
  | { kind: 'unreadable' }

/**
 * Reads the bytes of a body. Never throws.
 * @param contentType the header; without one the body is taken for JSON, as older clients rely on.
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
    // `JSON.parse` says no in words of its own; the scanner finds the place and the words that clients know.
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

/** No number that overflowed (`1e400`), and no deeper than `left` levels. */
function isBearable(value: unknown, left: number): boolean {
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object' || value === null) return true
  if (left === 0) return false
  if (Array.isArray(value)) return value.every((item) => isBearable(item, left - 1))
  for (const key in value) if (!isBearable((value as Record<string, unknown>)[key], left - 1)) return false
  return true
}
