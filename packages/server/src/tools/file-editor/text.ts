/**
 * Converts bytes to text and back without loss: an edit keeps the bytes of everything else, in any encoding.
 * A byte that is not UTF-8, in a file that otherwise is, becomes a lone surrogate (U+DC80..U+DCFF) and is converted
 * back.
 */

export type Encoding = 'utf-8' | 'utf-8-bom' | 'utf-16le' | 'utf-16be' | 'latin1'
export type Decoded = { text: string; encoding: Encoding }

const UTF8_BOM = [0xef, 0xbb, 0xbf]
const UTF16LE_BOM = [0xff, 0xfe]
const UTF16BE_BOM = [0xfe, 0xff]

/** Returns the text of a file and its encoding; null when the content is binary. */
export function decode(bytes: Uint8Array): Decoded | null {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const starts = (mark: readonly number[]): boolean => mark.every((byte, at) => buffer[at] === byte)
  if (starts(UTF16LE_BOM) || starts(UTF16BE_BOM)) {
    if (buffer.length % 2 !== 0) return null
    const isLittle = starts(UTF16LE_BOM)
    const body = isLittle ? buffer.subarray(2) : Buffer.from(buffer.subarray(2)).swap16()
    const text = body.toString('utf16le')
    return text.includes('\0') ? null : { text, encoding: isLittle ? 'utf-16le' : 'utf-16be' }
  }
  if (buffer.includes(0) || buffer.subarray(0, 5).toString('latin1') === '%PDF-') return null
  const hasBom = starts(UTF8_BOM)
  const body = hasBom ? buffer.subarray(3) : buffer
  const strict = strictUtf8(body)
  if (strict !== null) return { text: strict, encoding: hasBom ? 'utf-8-bom' : 'utf-8' }
  const lenient = escapedUtf8(body)
  if (hasBom || lenient.sequences >= lenient.escaped)
    return { text: lenient.text, encoding: hasBom ? 'utf-8-bom' : 'utf-8' }
  const text = buffer.toString('latin1')
  return CONTROLS.test(text) ? null : { text, encoding: 'latin1' }
}

/** Returns the bytes of a text. A character outside Latin-1 turns the whole file into UTF-8. */
export function encode(text: string, encoding: Encoding): Uint8Array {
  switch (encoding) {
    case 'utf-8':
      return utf8(text)
    case 'utf-8-bom':
      return Buffer.concat([Buffer.from(UTF8_BOM), utf8(text)])
    case 'utf-16le':
      return Buffer.concat([Buffer.from(UTF16LE_BOM), Buffer.from(text, 'utf16le')])
    case 'utf-16be':
      return Buffer.concat([Buffer.from(UTF16BE_BOM), Buffer.from(text, 'utf16le').swap16()])
    case 'latin1':
      return NOT_LATIN1.test(text) ? utf8(text) : Buffer.from(text, 'latin1')
  }
}

/** Returns the text for people and models: invalid bytes become U+FFFD. */
export const printable = (text: string): string => text.toWellFormed()

const NOT_LATIN1 = /[^\u0000-\u00ff]/ // oxlint-disable-line no-control-regex -- the range is the point
const CONTROLS = /[\u0001-\u0007\u000e-\u001a]/ // oxlint-disable-line no-control-regex -- the range is the point
const ESCAPED = /[\udc80-\udcff]/u

function strictUtf8(buffer: Buffer): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(buffer)
  } catch {
    // Decoding is the only way to check for UTF-8; the caller tries another encoding.
    return null
  }
}

function escapedUtf8(buffer: Buffer): { text: string; sequences: number; escaped: number } {
  let text = ''
  let sequences = 0
  let escaped = 0
  let plain = 0
  for (let at = 0; at < buffer.length;) {
    const byte = buffer[at]!
    const length = byte < 0x80 ? 1 : byte < 0xc2 ? 0 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : byte < 0xf5 ? 4 : 0
    if (length === 1) {
      at++
      continue
    }
    text += buffer.toString('latin1', plain, at)
    const char = length === 0 ? null : strictUtf8(buffer.subarray(at, at + length))
    if (char === null || at + length > buffer.length) {
      text += String.fromCharCode(0xdc00 + byte)
      escaped++
      at++
    } else {
      text += char
      sequences++
      at += length
    }
    plain = at
  }
  return { text: text + buffer.toString('latin1', plain), sequences, escaped }
}

function utf8(text: string): Buffer {
  if (!ESCAPED.test(text)) return Buffer.from(text, 'utf8')
  const parts = text.split(/([\udc80-\udcff])/u)
  return Buffer.concat(
    parts.map((part) => (ESCAPED.test(part) ? Buffer.from([part.charCodeAt(0) - 0xdc00]) : Buffer.from(part, 'utf8'))),
  )
}
