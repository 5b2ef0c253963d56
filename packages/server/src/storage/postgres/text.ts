/**
 * Text that PostgreSQL stores unchanged. It refuses the character U+0000, which names and messages may contain, so that character is stored
 * as a word of two noncharacters, and so is each of them.
 *
 * A word begins and ends with the first of them, and has the second one between. So no word is found at another place than its own: a text
 * contains another one exactly if its stored form does.
 */
const ENCODED: Readonly<Record<string, string>> = {
  '\0': '\u{10FFFF}\u{10FFFE}\u{10FFFF}',
  '\u{10FFFF}': '\u{10FFFF}\u{10FFFE}\u{10FFFE}\u{10FFFF}',
  '\u{10FFFE}': '\u{10FFFF}\u{10FFFE}\u{10FFFE}\u{10FFFE}\u{10FFFF}',
}
const DECODED = new Map(Object.entries(ENCODED).map(([char, word]) => [word, char]))
// oxlint-disable-next-line no-control-regex
const TO_ENCODE = /[\0\u{10FFFE}\u{10FFFF}]/gu
const TO_DECODE = /\u{10FFFF}\u{10FFFE}{1,3}\u{10FFFF}/gu

/** The stored form of a text. */
export const encodeText = (text: string): string => text.replace(TO_ENCODE, (char) => ENCODED[char]!)

/** The text that `encodeText` was given. */
export const decodeText = (stored: string): string =>
  stored.includes('\u{10FFFF}') ? stored.replace(TO_DECODE, (word) => DECODED.get(word)!) : stored
