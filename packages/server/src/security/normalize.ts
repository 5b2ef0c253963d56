/** Normalises text so that hidden characters cannot hide it from a pattern. Idempotent and total. Source: agent-core.md 4.5. */

// Code points, first and last of each range.
const HIDDEN_RANGES: readonly (readonly [number, number])[] = [
  // Control characters except tab, line feed and carriage return.
  [0x00, 0x08],
  [0x0b, 0x0c],
  [0x0e, 0x1f],
  [0x7f, 0x9f],
  // Soft hyphen, joiners, fillers and nearly invisible spaces.
  [0xad, 0xad],
  [0x34f, 0x34f],
  [0x61c, 0x61c],
  [0x115f, 0x1160],
  [0x1680, 0x1680],
  [0x180b, 0x180f],
  [0x2009, 0x200f],
  [0x2060, 0x2064],
  [0x206a, 0x206f],
  [0x2800, 0x2800],
  [0x3164, 0x3164],
  [0xfeff, 0xfeff],
  [0xffa0, 0xffa0],
  [0xfff9, 0xfffc],
  // Marks that change the direction of text.
  [0x202a, 0x202e],
  [0x2066, 0x2069],
  // Variation selectors and tags.
  [0xfe00, 0xfe0f],
  [0xe0000, 0xe007f],
  [0xe0100, 0xe01ef],
]
const escaped = (code: number): string => `\\u{${code.toString(16)}}`
const HIDDEN = new RegExp(
  `[${HIDDEN_RANGES.map(([first, last]) => `${escaped(first)}-${escaped(last)}`).join('')}]`,
  'gu',
)

/** Removal can join two characters into a new one, and folding can produce a hidden one, so both repeat until nothing changes. */
function withoutHidden(text: string): string {
  let current = text
  for (;;) {
    const next = current.replace(HIDDEN, '').normalize('NFKC')
    if (next === current) return current
    current = next
  }
}

/** Text for patterns: without hidden characters, with compatibility characters folded and white space collapsed to single spaces. */
export function normalize(text: string): string {
  return withoutHidden(text).replace(/\s+/g, ' ')
}

/** Text for parsers: like `normalize`, but with line ends and other white space kept. */
export function normalizeLines(text: string): string {
  return withoutHidden(text).replace(/\r\n?|[\u2028\u2029]/g, '\n')
}
