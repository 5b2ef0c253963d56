/**
 * Finds the offset and the reason of a JSON fault, with the texts and offsets of the parser that existing clients know. It runs only
 * after `JSON.parse` has refused, so clarity matters more than speed. Source: conversation-service.md 7.2.
 *
 * Positions are UTF-16 indexes inside this file; results are code points.
 */

export type JsonFault = { kind: 'syntax'; offset: number; reason: string } | { kind: 'too_deep' }

/** Deepest nesting of a request body, well below the limit of recursive readers. */
export const MAX_JSON_DEPTH = 200

const NAME_EXPECTED = 'Expecting property name enclosed in double quotes'
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?/y
const BLANKS = /[ \t\n\r]*/y
const ESCAPES = '"\\/bfnrt'

class Fault extends Error {
  readonly at: number
  constructor(reason: string, at: number) {
    super(reason)
    this.at = at
  }
}

class TooDeep extends Error {}

/** The first fault of `text`; null for valid JSON with finite numbers and acceptable depth. */
export function findJsonFault(text: string): JsonFault | null {
  try {
    const end = skipBlanks(text, scanValue(text, skipBlanks(text, 0), 0))
    if (end < text.length) throw new Fault('Extra data', end)
    return null
  } catch (error) {
    if (error instanceof TooDeep) return { kind: 'too_deep' }
    if (error instanceof Fault) return { kind: 'syntax', offset: codePoints(text, error.at), reason: error.message }
    throw error
  }
}

/** Number of code points before the UTF-16 index `end`; the unit of every offset and length on the wire. */
function codePoints(text: string, end = text.length): number {
  let count = 0
  for (let at = 0; at < end; count += 1) at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1
  return count
}

function skipBlanks(text: string, at: number): number {
  BLANKS.lastIndex = at
  BLANKS.test(text)
  return BLANKS.lastIndex
}

/** Each scanner takes the index of the first character and returns the index after the last one. */
function scanValue(text: string, at: number, depth: number): number {
  switch (text[at]) {
    case '"':
      return scanString(text, at)
    case '{':
      return scanObject(text, at, depth + 1)
    case '[':
      return scanArray(text, at, depth + 1)
    default:
  }
  for (const word of ['true', 'false', 'null']) if (text.startsWith(word, at)) return at + word.length
  NUMBER.lastIndex = at
  const number = NUMBER.exec(text)
  if (number === null) throw new Fault('Expecting value', at)
  // Valid grammar, but no reader of the answer could represent the value.
  if (!Number.isFinite(Number(number[0]))) throw new Fault('Number out of range', at)
  return at + number[0].length
}

function scanArray(text: string, open: number, depth: number): number {
  if (depth > MAX_JSON_DEPTH) throw new TooDeep()
  let at = skipBlanks(text, open + 1)
  if (text[at] === ']') return at + 1
  for (;;) {
    at = skipBlanks(text, scanValue(text, at, depth))
    if (text[at] === ']') return at + 1
    if (text[at] !== ',') throw new Fault("Expecting ',' delimiter", at)
    at = skipBlanks(text, at + 1)
  }
}

function scanObject(text: string, open: number, depth: number): number {
  if (depth > MAX_JSON_DEPTH) throw new TooDeep()
  let at = skipBlanks(text, open + 1)
  if (text[at] === '}') return at + 1
  for (;;) {
    if (text[at] !== '"') throw new Fault(NAME_EXPECTED, at)
    at = skipBlanks(text, scanString(text, at))
    if (text[at] !== ':') throw new Fault("Expecting ':' delimiter", at)
    at = skipBlanks(text, scanValue(text, skipBlanks(text, at + 1), depth))
    if (text[at] === '}') return at + 1
    if (text[at] !== ',') throw new Fault("Expecting ',' delimiter", at)
    at = skipBlanks(text, at + 1)
  }
}

function scanString(text: string, open: number): number {
  let at = open + 1
  for (;;) {
    const char = text[at]
    if (char === undefined) throw new Fault('Unterminated string starting at', open)
    if (char === '"') return at + 1
    if (char < ' ') throw new Fault('Invalid control character at', at)
    at = char === '\\' ? scanEscape(text, at, open) : at + 1
  }
}

function scanEscape(text: string, slash: number, open: number): number {
  const char = text[slash + 1]
  if (char === undefined) throw new Fault('Unterminated string starting at', open)
  if (char === 'u') {
    const digits = text.slice(slash + 2, slash + 6)
    // An escape at the very end of the text is reported as invalid, even with four valid digits.
    if (slash + 6 >= text.length || !/^[0-9a-fA-F]{4}$/.test(digits))
      throw new Fault('Invalid \\uXXXX escape', slash + 1)
    return slash + 6
  }
  if (!ESCAPES.includes(char)) throw new Fault('Invalid \\escape', slash)
  return slash + 2
}
