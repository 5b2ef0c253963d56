/** A text for a decision: characters that cannot be seen, that change the order of others, or that look like others are shown. Pure. */

export type Piece = {
  readonly text: string
  /** Empty for plain text; otherwise what is special about the character, in words. */
  readonly hint: string
}

/** Characters that turn the direction of the text around them. */
const BIDI: Readonly<Record<number, string>> = {
  0x061c: 'ALM',
  0x200e: 'LRM',
  0x200f: 'RLM',
  0x202a: 'LRE',
  0x202b: 'RLE',
  0x202c: 'PDF',
  0x202d: 'LRO',
  0x202e: 'RLO',
  0x2066: 'LRI',
  0x2067: 'RLI',
  0x2068: 'FSI',
  0x2069: 'PDI',
}
/** Characters that look like one of ASCII: the code point in four hexadecimal digits, then what it looks like. */
const PAIRS =
  '0430a 0435e 043eo 0440p 0441c 0443y 0445x 0456i 0458j 0455s 0501d 04bbh 04cfl 051bq 051dw 0261g ' +
  '0410A 0412B 0415E 041aK 041cM 041dH 041eO 0420P 0421C 0422T 0423Y 0425X 0406I 0405S 03bfo 03b1a ' +
  '03bdv 03b9i 03bak 03c1p 03c4t 03c5u 0391A 0392B 0395E 0396Z 0397H 0399I 039aK 039cM 039dN 039fO ' +
  '03a1P 03a4T 03a5Y 03a7X ff0f/ 2215/ 2044/ 2010- 2011- 2212- ff1b; ff1a: 2024. ff04$ ff5c| ff06& ' +
  "2018' 2019' 201c\" 201d\" 2032' 02b9' ff1c< ff1e> ff40` ff3c\\ 2216\\"
const LOOK_ALIKES = new Map(
  PAIRS.split(' ').map((pair) => [String.fromCodePoint(Number.parseInt(pair.slice(0, 4), 16)), pair.slice(4)]),
)

/** True for a character without a visible form, besides the usual spaces and line ends. */
const isInvisible = (code: number, char: string) =>
  code === 0x115f ||
  code === 0x1160 ||
  code === 0x3164 ||
  code === 0xffa0 ||
  code === 0x2800 ||
  /[\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}\p{Cs}]/u.test(char) ||
  (code >= 0xfe00 && code <= 0xfe0f) ||
  (code >= 0xe0100 && code <= 0xe01ef) ||
  code === 0x034f

const hex = (code: number) => `U+${code.toString(16).toUpperCase().padStart(4, '0')}`

/** Words for a character that must be shown; undefined for a plain one. */
function special(char: string): Piece | undefined {
  const code = char.codePointAt(0) ?? 0
  if (code === 0x0a) return undefined
  if (code === 0x09) return { text: '⇥', hint: 'tab' }
  if (code === 0x0d) return { text: '␍', hint: 'carriage return' }
  if (code < 0x20 || code === 0x7f)
    return { text: code === 0x7f ? '␡' : String.fromCharCode(0x2400 + code), hint: `control character ${hex(code)}` }
  if (code >= 0x80 && code < 0xa0) return { text: hex(code), hint: `control character ${hex(code)}` }
  const bidi = BIDI[code]
  if (bidi !== undefined) return { text: bidi, hint: `changes the direction of the text (${hex(code)})` }
  if (char !== ' ' && /\p{Zs}/u.test(char)) return { text: '␣', hint: `unusual space (${hex(code)})` }
  if (isInvisible(code, char)) return { text: hex(code), hint: `invisible character (${hex(code)})` }
  const like = LOOK_ALIKES.get(char)
  if (like !== undefined) return { text: char, hint: `looks like “${like}” but is ${hex(code)}` }
  if (code >= 0xff01 && code <= 0xff5e)
    return { text: char, hint: `looks like “${String.fromCharCode(code - 0xfee0)}” but is ${hex(code)}` }
  return undefined
}

/** The pieces of a text: together they have every character, and no piece hides one. */
export function visibleText(text: string): readonly Piece[] {
  const pieces: Piece[] = []
  let plain = ''
  const flush = () => {
    if (plain !== '') pieces.push({ text: plain, hint: '' })
    plain = ''
  }
  for (const char of text) {
    const piece = special(char)
    if (piece === undefined) plain += char
    else {
      flush()
      pieces.push(piece)
    }
  }
  flush()
  return pieces
}

/** Number of characters that need a hint. */
export const hintsOf = (pieces: readonly Piece[]): number => pieces.filter(({ hint }) => hint !== '').length
