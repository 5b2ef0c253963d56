/** Reads a request body as JSON; the schema is applied later, in `validation.ts`. Source: conversation-service.md 7.2. */
import { isUtf8 } from 'node:buffer'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type JsonFault, JsonScanner } from '@parley/protocol'

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
  /** 413: more values than a text may have. */
  | { kind: 'too_many' }

/** Bytes that are scanned, or parsed, before other connections get their turn. */
const SLICE_BYTES = 1024 * 1024
/** A body up to this size is read at once. */
const SMALL_BYTES = 256 * 1024

export const isLarge = (bytes: Buffer | undefined): boolean => bytes !== undefined && bytes.length > SMALL_BYTES

/**
 * Reads the bytes of a body. It is scanned before it is parsed, so that neither depth nor number of values can stall the server; a
 * large one is read in several turns of the event loop. Never rejects.
 * @param contentType the header; a body without one counts as JSON, because older clients rely on that
 */
export async function readJsonBody(bytes: Buffer | undefined, contentType: string | undefined): Promise<JsonBody> {
  if (bytes === undefined || bytes.length === 0) return { kind: 'absent' }
  if (!isUtf8(bytes)) return { kind: 'unreadable' }
  if (contentType !== undefined && !isJsonType(contentType)) return { kind: 'text', value: textOf(bytes) }
  const isSliced = isLarge(bytes)
  if (isSliced) await nextTurn()
  const scanner = new JsonScanner(bytes)
  while (scanner.advance(SLICE_BYTES)) await nextTurn()
  if (scanner.fault !== null) return refusal(scanner.fault)
  if (isSliced) await nextTurn()
  const text = textOf(bytes)
  if (isSliced) await nextTurn()
  const value: unknown = JSON.parse(text)
  if (isSliced) await nextTurn()
  return { kind: 'value', value }
}

/** The text without its byte order mark. */
function textOf(bytes: Buffer): string {
  const text = bytes.toString('utf8')
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text
}

/** `application/json` and `application/<anything>+json`, with or without parameters. */
function isJsonType(contentType: string): boolean {
  return /^\s*application\/(?:[^;\s]+\+)?json\s*(?:;|$)/i.test(contentType)
}

function refusal(fault: JsonFault): JsonBody {
  switch (fault.kind) {
    case 'too_deep':
      return { kind: 'unreadable' }
    case 'too_many':
      return { kind: 'too_many' }
    case 'syntax':
      return { kind: 'malformed', offset: fault.offset, reason: fault.reason }
  }
}
