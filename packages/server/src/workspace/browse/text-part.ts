/** A part of a file as text. Pure. */
import { SAMPLE_BYTES, type Range } from './browsed-folder.ts'

const NEWLINE = 0x0a

/** True when the beginning of a file is not text: it holds a NUL. */
export const isBinary = (beginning: Uint8Array): boolean => beginning.subarray(0, SAMPLE_BYTES).includes(0)

/**
 * The text of the bytes of a file from `offset` on, without a line that its end cuts off, or without a character if there is no whole line.
 * Bytes that are no UTF-8 become U+FFFD.
 */
export function textPart(
  bytes: Uint8Array,
  { offset, size }: Pick<Range, 'offset'> & { size: number },
): { text: string; next_offset: number | null } {
  const isLast = offset + bytes.length >= size || bytes.length === 0
  const end = isLast ? bytes.length : endOfLine(bytes)
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, end).toString('utf8')
  return { text, next_offset: isLast ? null : offset + end }
}

function endOfLine(bytes: Uint8Array): number {
  const newline = bytes.lastIndexOf(NEWLINE)
  return newline === -1 ? endOfCharacter(bytes) : newline + 1
}

/** The end of the last whole character; of all bytes where they are no UTF-8. */
function endOfCharacter(bytes: Uint8Array): number {
  for (let at = bytes.length - 1; at > 0 && at >= bytes.length - 4; at--) {
    const byte = bytes[at]!
    if ((byte & 0b1100_0000) === 0b1000_0000) continue
    const length = byte >= 0b1111_0000 ? 4 : byte >= 0b1110_0000 ? 3 : byte >= 0b1100_0000 ? 2 : 1
    return at + length > bytes.length ? at : bytes.length
  }
  return bytes.length
}
