/**
 * Translates the regular expressions that models write for `grep -E`. Only expressions that match in linear time are
 * accepted, so a
 * search has the same meaning and ends in time with every program. Source: agent-core.md 8.7.
 */
import { Refusal } from '../refusal.ts'

/** Inside a bracket expression, and outside one. */
const CLASSES: Readonly<Record<string, string>> = { d: '0-9', w: '[:alnum:]_', s: '[:space:]' }
const CONTROLS: Readonly<Record<string, string>> = { t: '\t', f: '\f', v: '\v', r: '\r', a: '\u0007', e: '\u001b' }

/** @throws Refusal for an expression that is not linear. */
export function expectLinear(pattern: string): void {
  if (/[\n\0]/.test(pattern) || /(^|[^\\])(\\\\)*\\n/.test(pattern))
    throw new Refusal('Invalid regex pattern: a search looks at one line at a time, so it cannot hold a line break.')
  const bare = pattern.replaceAll(/\\[^1-9k]/g, '').replaceAll(/\[\^?\]?[^\]]*\]/g, '')
  if (/\(\?(<?[=!])/.test(bare)) throw new Refusal('Invalid regex pattern: look-around is not supported.')
  if (/\\([1-9]|k[<{'])/.test(bare)) throw new Refusal('Invalid regex pattern: backreferences are not supported.')
}

/** Returns the pattern for `grep -E -i`; null when it cannot be translated. */
export function toEre(pattern: string): string | null {
  let ere = ''
  for (let at = 0; at < pattern.length;) {
    const rest = pattern.slice(at)
    const [flags] = /^\(\?[imsux]*\)/.exec(rest) ?? []
    const [group] = /^\(\?(:|P?<\w+>|[im]+:)/.exec(rest) ?? []
    const [lazy] = /^([*+?]|\{\d+(,\d*)?\})\?/.exec(rest) ?? []
    if (flags !== undefined) {
      if (/[sx]/.test(flags)) return null
      at += flags.length
    } else if (group !== undefined) {
      ere += '('
      at += group.length
    } else if (rest.startsWith('(?')) {
      return null
    } else if (lazy !== undefined) {
      // A lazy quantifier does not change which lines match.
      ere += lazy.slice(0, -1)
      at += lazy.length
    } else if (rest.startsWith('\\')) {
      const escape = escaped(rest)
      if (escape === null) return null
      ere += escape.ere
      at += escape.length
    } else if (rest.startsWith('[')) {
      const set = bracket(rest)
      if (set === null) return null
      ere += set.ere
      at += set.length
    } else {
      ere += rest[0]
      at++
    }
  }
  return ere
}

type Piece = { ere: string; length: number }

function escaped(rest: string): Piece | null {
  const char = rest[1]
  if (char === undefined) return null
  const hex = hexOf(rest)
  if (hex !== null) return { ere: literal(hex.char), length: hex.length }
  const lower = char.toLowerCase()
  if (lower in CLASSES) return { ere: `[${char === lower ? '' : '^'}${CLASSES[lower]!}]`, length: 2 }
  if (char in CONTROLS) return { ere: CONTROLS[char]!, length: 2 }
  if (char === 'b' || char === 'B' || char === '<' || char === '>') return { ere: `\\${char}`, length: 2 }
  if (char === 'A') return { ere: '^', length: 2 }
  if (char === 'z' || char === 'Z') return { ere: '$', length: 2 }
  return /[a-zA-Z0-9]/.test(char) ? null : { ere: literal(char), length: 2 }
}

/** A bracket expression: POSIX has no escapes in one, and requires a special order of some characters. */
function bracket(rest: string): Piece | null {
  const isNegated = rest[1] === '^'
  let ranges = ''
  let has = ''
  let at = isNegated ? 2 : 1
  for (const first = at; at < rest.length && (rest[at] !== ']' || at === first);) {
    const [named] = /^\[:\^?\w+:\]/.exec(rest.slice(at)) ?? []
    if (named !== undefined) {
      if (named.startsWith('[:^')) return null
      ranges += named
      at += named.length
      continue
    }
    const hex = hexOf(rest.slice(at))
    const isEscape = rest[at] === '\\' && hex === null
    const char = hex?.char ?? (isEscape ? rest[at + 1] : rest[at])
    if (char === undefined) return null
    at += hex?.length ?? (isEscape ? 2 : 1)
    if (isEscape && char in CLASSES) ranges += CLASSES[char]!
    else if (isEscape && char in CONTROLS) ranges += CONTROLS[char]!
    else if (isEscape && /[a-zA-Z0-9]/.test(char)) return null
    else if (!isEscape && char === '&' && rest[at] === '&') return null
    else if (rest[at] === '-' && rest[at + 1] !== ']' && rest[at + 1] !== undefined && char !== '-') {
      if (rest[at + 1] === '\\' || ']^['.includes(char)) return null
      ranges += `${char}-${rest[at + 1]!}`
      at += 2
    } else if (']^-['.includes(char)) has += char
    else ranges += char
  }
  if (rest[at] !== ']') return null
  const pick = (char: string) => (has.includes(char) ? char : '')
  const members = `${pick(']')}${ranges}${pick('[')}${pick('^')}${pick('-')}`
  if (!isNegated && members === '^') return { ere: '\\^', length: at + 1 }
  // A caret in front would negate the set, so it goes after the dash, which may be first or last.
  const ordered = !isNegated && members === '^-' ? '-^' : members
  return { ere: `[${isNegated ? '^' : ''}${ordered}]`, length: at + 1 }
}

function hexOf(rest: string): { char: string; length: number } | null {
  const [whole, short, long] = /^\\(?:x([0-9a-fA-F]{2})|(?:x|u)\{([0-9a-fA-F]{1,6})\})/.exec(rest) ?? []
  const code = parseInt(short ?? long ?? '', 16)
  if (whole === undefined || code > 0x10ffff || code === 0 || code === 10) return null
  return { char: String.fromCodePoint(code), length: whole.length }
}

const literal = (char: string): string =>
  char === '^' || char === '\\' ? `\\${char}` : '.[()*+?{|$'.includes(char) ? `[${char}]` : char
