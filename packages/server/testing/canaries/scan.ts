/** Searches bytes and texts for canaries: as plain text, in base64 at any offset, and in hexadecimal digits. */
import { CANARY_NAMES, MARK, type CanaryName } from './values.ts'

/** `name` null: in a form that does not identify the canary. */
export type CanaryFound = { name: CanaryName | null; form: 'plain' | 'base64' | 'hex'; around: string }

/** The part of a text's base64 that does not depend on the text before and after it, for each of three offsets. */
function base64Cores(text: string): string[] {
  return [0, 1, 2].map((before) => {
    const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(text)])
    return bytes.toString('base64').slice(Math.ceil((before * 8) / 6), Math.floor((bytes.length * 8) / 6))
  })
}

const NEEDLES: readonly [CanaryFound['form'], string, Buffer][] = [
  ['plain' as const, MARK],
  ...base64Cores(MARK).map((core) => ['base64' as const, core] as const),
  ['hex' as const, Buffer.from(MARK).toString('hex')],
].map(([form, text]) => [form as CanaryFound['form'], text!, Buffer.from(text!)])

/** Length of the longest needle minus one: the part of a chunk to keep, so that a match across two chunks is found. */
export const OVERLAP = Math.max(...NEEDLES.map(([, text]) => text.length)) - 1

/** Returns the first canary of each form. Fast in the expected case of none. */
export function scan(where: string | Uint8Array): CanaryFound[] {
  const found: CanaryFound[] = []
  for (const [form, text, bytes] of NEEDLES) {
    const at = typeof where === 'string' ? where.indexOf(text) : asBuffer(where).indexOf(bytes)
    if (at === -1) continue
    const around = textOf(where, Math.max(0, at - 60), at + 60)
    const number = form === 'plain' ? Number(textOf(where, at + MARK.length, at + MARK.length + 2)) : Number.NaN
    found.push({ name: CANARY_NAMES[number] ?? null, form, around })
  }
  return found
}

const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

const textOf = (where: string | Uint8Array, from: number, to: number): string =>
  typeof where === 'string' ? where.slice(from, to) : asBuffer(where).subarray(from, to).toString('latin1')

/** Searches a text that arrives in chunks, also across their boundaries. */
export function makeScanner(onFound: (found: CanaryFound[]) => void): (piece: string | Uint8Array) => void {
  let before = ''
  return (piece) => {
    const found = [...scan(piece)]
    if (found.length === 0 && before !== '') found.push(...scan(before + textOf(piece, 0, OVERLAP)))
    // A reported match must not be found again with the next chunk.
    before =
      found.length > 0
        ? ''
        : (before + textOf(piece, Math.max(0, piece.length - OVERLAP), piece.length)).slice(-OVERLAP)
    if (found.length > 0) onFound(found)
  }
}
