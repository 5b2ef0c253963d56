/** Looks for canaries in bytes and texts: as they are, in base64 at any place of a text, and in hexadecimal digits. */
import { CANARY_NAMES, MARK, type CanaryName } from './values.ts'

/** `name` null: in a form that does not tell which one it is. */
export type Found = { name: CanaryName | null; form: 'plain' | 'base64' | 'hex'; around: string }

/** The part of a text's base64 that is the same whatever stands before and after, for each of three places. */
function base64Cores(text: string): string[] {
  return [0, 1, 2].map((before) => {
    const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(text)])
    return bytes.toString('base64').slice(Math.ceil((before * 8) / 6), Math.floor((bytes.length * 8) / 6))
  })
}

const NEEDLES: readonly [Found['form'], string, Buffer][] = [
  ['plain' as const, MARK],
  ...base64Cores(MARK).map((core) => ['base64' as const, core] as const),
  ['hex' as const, Buffer.from(MARK).toString('hex')],
].map(([form, text]) => [form as Found['form'], text!, Buffer.from(text!)])

/** Longest needle less one: what has to be kept of a piece so that nothing is lost where two pieces meet. */
export const OVERLAP = Math.max(...NEEDLES.map(([, text]) => text.length)) - 1

/** The first canary of each form. Fast when there is none, which is what is expected. */
export function scan(where: string | Uint8Array): Found[] {
  const found: Found[] = []
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

/** Searches a text that comes in pieces, also where two meet. */
export function makeScanner(onFound: (found: Found[]) => void): (piece: string | Uint8Array) => void {
  let before = ''
  return (piece) => {
    const found = [...scan(piece)]
    if (found.length === 0 && before !== '') found.push(...scan(before + textOf(piece, 0, OVERLAP)))
    // What has been told once is not to be found again with the next piece.
    before =
      found.length > 0
        ? ''
        : (before + textOf(piece, Math.max(0, piece.length - OVERLAP), piece.length)).slice(-OVERLAP)
    if (found.length > 0) onFound(found)
  }
}
