/**
 * Reads JSON text without making values of it: finds the first fault, the nesting and the number of values. It runs before
 * `JSON.parse`, whose time and memory depend on them. Linear, without recursion, and it can pause. The texts and offsets of faults are
 * those of the parser that existing clients know. Source: conversation-service.md 7.2.
 */

export type JsonFault =
  /** `offset` counts code points. */
  { kind: 'syntax'; offset: number; reason: string } | { kind: 'too_deep' } | { kind: 'too_many' }

/** Deepest nesting of lists and objects. Source: docs/errors.md, Size of a body. */
export const MAX_JSON_DEPTH = 200
/** Values of one text: texts, numbers, words, lists and objects, without the names of members. Source: docs/errors.md, Size of a body. */
export const MAX_JSON_VALUES = 100_000

/** Limits of one text. */
export type JsonLimits = { depth: number; values: number }
const LIMITS: JsonLimits = { depth: MAX_JSON_DEPTH, values: MAX_JSON_VALUES }

const NAME_EXPECTED = 'Expecting property name enclosed in double quotes'
const DELIMITER_EXPECTED = "Expecting ',' delimiter"

/** What is expected at the position of the scanner. */
const VALUE = 0
const FIRST_ITEM = 1
const FIRST_NAME = 2
const NAME = 3
const COLON = 4
const AFTER_VALUE = 5
/** Inside the name of a member, or inside a text. */
const IN_NAME = 6
const IN_TEXT = 7

const LIST = 0
const OBJECT = 1

const QUOTE = 0x22
const COMMA = 0x2c
const MINUS = 0x2d
const DOT = 0x2e
const ZERO = 0x30
const NINE = 0x39
const OPEN_LIST = 0x5b
const BACKSLASH = 0x5c
const CLOSE_LIST = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

const bytesOf = (text: string): number[] => [...text].map((char) => char.charCodeAt(0))
const WORDS = ['true', 'false', 'null'].map(bytesOf)
const ESCAPES = new Set(bytesOf('"\\/bfnrt'))

/** Longer numbers may be infinite, and so may those with an exponent. */
const MAX_FINITE_DIGITS = 300

/** Scans one text of UTF-8 from its beginning to its end. */
export class JsonScanner {
  readonly #bytes: Uint8Array
  readonly #limits: JsonLimits
  /** Kind of the open container at each depth. */
  readonly #containers: Uint8Array
  #at: number
  readonly #start: number
  #state = VALUE
  #depth = 0
  #values = 0
  /** Position of the quotation mark that opened the current text or name. */
  #opened = 0
  #fault: JsonFault | null = null

  /** @param bytes valid UTF-8; a byte order mark is skipped and not counted */
  constructor(bytes: Uint8Array, limits = LIMITS) {
    this.#bytes = bytes
    this.#limits = limits
    this.#containers = new Uint8Array(limits.depth + 1)
    this.#start = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0
    this.#at = this.#start
  }

  /** The first fault; null when there is none so far. */
  get fault(): JsonFault | null {
    return this.#fault
  }

  /** Scans about `count` bytes more. False: the end, or a fault, is reached. */
  advance(count: number): boolean {
    const end = this.#bytes.length
    const pause = Math.min(this.#at + count, end)
    while (this.#at < pause && this.#fault === null) this.#step(pause)
    if (this.#fault === null && this.#at >= end) this.#fault = this.#faultAtEnd()
    return this.#fault === null && this.#at < end
  }

  #step(pause: number): void {
    switch (this.#state) {
      case IN_NAME:
      case IN_TEXT:
        return this.#text(pause)
      default:
    }
    if (!this.#skipBlanks(pause)) return
    const byte = this.#bytes[this.#at]!
    switch (this.#state) {
      case VALUE:
        return this.#value(byte)
      case FIRST_ITEM:
        return byte === CLOSE_LIST ? this.#close() : this.#value(byte)
      case FIRST_NAME:
        return byte === CLOSE_OBJECT ? this.#close() : this.#name(byte)
      case NAME:
        return this.#name(byte)
      case COLON:
        if (byte !== 0x3a) return this.#refuse("Expecting ':' delimiter", this.#at)
        this.#at += 1
        this.#state = VALUE
        return
      case AFTER_VALUE:
        return this.#afterValue(byte)
      default:
    }
  }

  /** True when a byte that is not blank is reached before `pause`. */
  #skipBlanks(pause: number): boolean {
    const bytes = this.#bytes
    let at = this.#at
    while (at < pause && (bytes[at] === 0x20 || (bytes[at]! <= 0x0d && isBlank(bytes[at]!)))) at += 1
    this.#at = at
    return at < pause
  }

  #value(byte: number): void {
    this.#values += 1
    if (this.#values > this.#limits.values) return void (this.#fault = { kind: 'too_many' })
    switch (byte) {
      case QUOTE:
        return this.#open(IN_TEXT)
      case OPEN_LIST:
        return this.#enter(LIST, FIRST_ITEM)
      case OPEN_OBJECT:
        return this.#enter(OBJECT, FIRST_NAME)
      default:
        return this.#scalar(byte)
    }
  }

  #enter(container: number, state: number): void {
    this.#depth += 1
    if (this.#depth > this.#limits.depth) return void (this.#fault = { kind: 'too_deep' })
    this.#containers[this.#depth] = container
    this.#at += 1
    this.#state = state
  }

  #close(): void {
    this.#depth -= 1
    this.#at += 1
    this.#state = AFTER_VALUE
  }

  #name(byte: number): void {
    if (byte !== QUOTE) return this.#refuse(NAME_EXPECTED, this.#at)
    this.#open(IN_NAME)
  }

  #open(state: number): void {
    this.#opened = this.#at
    this.#at += 1
    this.#state = state
  }

  #afterValue(byte: number): void {
    if (this.#depth === 0) return this.#refuse('Extra data', this.#at)
    const isList = this.#containers[this.#depth] === LIST
    if (byte === (isList ? CLOSE_LIST : CLOSE_OBJECT)) return this.#close()
    if (byte !== COMMA) return this.#refuse(DELIMITER_EXPECTED, this.#at)
    this.#at += 1
    this.#state = isList ? VALUE : NAME
  }

  /** The rest of a text or name, at most up to `pause`. */
  #text(pause: number): void {
    const bytes = this.#bytes
    let at = this.#at
    while (at < pause) {
      const byte = bytes[at]!
      if (byte === QUOTE) {
        this.#at = at + 1
        this.#state = this.#state === IN_NAME ? COLON : AFTER_VALUE
        return
      }
      if (byte < 0x20) return this.#refuse('Invalid control character at', at)
      if (byte === BACKSLASH) {
        const next = this.#escape(at)
        if (next === 0) return
        at = next
      } else at += 1
    }
    this.#at = at
  }

  /** The position after an escape; 0 for a fault. */
  #escape(slash: number): number {
    const bytes = this.#bytes
    const byte = bytes[slash + 1]
    if (byte === undefined) return (this.#refuse('Unterminated string starting at', this.#opened), 0)
    if (byte !== 0x75) {
      if (ESCAPES.has(byte)) return slash + 2
      return (this.#refuse('Invalid \\escape', slash), 0)
    }
    const end = slash + 6
    // An escape at the very end of the text is reported as invalid, even with four valid digits.
    let isValid = end < bytes.length
    for (let at = slash + 2; isValid && at < end; at++) isValid = isHex(bytes[at]!)
    return isValid ? end : (this.#refuse('Invalid \\uXXXX escape', slash + 1), 0)
  }

  #scalar(byte: number): void {
    for (const word of WORDS) {
      if (byte !== word[0] || !word.every((char, offset) => this.#bytes[this.#at + offset] === char)) continue
      this.#at += word.length
      this.#state = AFTER_VALUE
      return
    }
    this.#number()
  }

  #number(): void {
    const bytes = this.#bytes
    const from = this.#at
    const whole = bytes[from] === MINUS ? from + 1 : from
    let at = bytes[whole] === ZERO ? whole + 1 : digitsFrom(bytes, whole)
    if (at === whole) return this.#refuse('Expecting value', from)
    let mayOverflow = at - whole > MAX_FINITE_DIGITS
    if (bytes[at] === DOT) {
      const after = digitsFrom(bytes, at + 1)
      if (after > at + 1) at = after
    }
    if (bytes[at] === 0x65 || bytes[at] === 0x45) {
      const sign = bytes[at + 1]
      const first = sign === MINUS || sign === 0x2b ? at + 2 : at + 1
      const after = digitsFrom(bytes, first)
      if (after > first) {
        mayOverflow = true
        at = after
      }
    }
    // Valid grammar, but no reader of the answer could represent the value.
    if (mayOverflow && !Number.isFinite(Number(new TextDecoder().decode(bytes.subarray(from, at)))))
      return this.#refuse('Number out of range', from)
    this.#at = at
    this.#state = AFTER_VALUE
  }

  #faultAtEnd(): JsonFault | null {
    switch (this.#state) {
      case AFTER_VALUE:
        return this.#depth === 0 ? null : this.#syntax(DELIMITER_EXPECTED, this.#at)
      case VALUE:
      case FIRST_ITEM:
        return this.#syntax('Expecting value', this.#at)
      case COLON:
        return this.#syntax("Expecting ':' delimiter", this.#at)
      case IN_NAME:
      case IN_TEXT:
        return this.#syntax('Unterminated string starting at', this.#opened)
      default:
        return this.#syntax(NAME_EXPECTED, this.#at)
    }
  }

  #refuse(reason: string, at: number): void {
    this.#fault = this.#syntax(reason, at)
  }

  #syntax(reason: string, at: number): JsonFault {
    let offset = 0
    // A code point has one byte that is no continuation.
    for (let index = this.#start; index < at; index++) if ((this.#bytes[index]! & 0xc0) !== 0x80) offset += 1
    return { kind: 'syntax', offset, reason }
  }
}

/** The first fault of a text in UTF-8; null for valid JSON with finite numbers within `limits`. */
export function findJsonFault(bytes: Uint8Array, limits = LIMITS): JsonFault | null {
  const scanner = new JsonScanner(bytes, limits)
  scanner.advance(bytes.length + 1)
  return scanner.fault
}

const isBlank = (byte: number): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09

const isHex = (byte: number): boolean =>
  (byte >= ZERO && byte <= NINE) || (byte >= 0x41 && byte <= 0x46) || (byte >= 0x61 && byte <= 0x66)

/** The position of the first byte at or after `at` that is no digit. */
function digitsFrom(bytes: Uint8Array, at: number): number {
  while (bytes[at]! >= ZERO && bytes[at]! <= NINE) at += 1
  return at
}
