/**
 * Other readings of an edit whose old text does not occur: with the line numbers of a view, or with `\n` in place of line breaks. A
 * reading counts only if its old text then is whole lines of the file. Pure. Source: agent-core.md 8.3.
 */

export type Reading = { kind: 'numbers' | 'line breaks'; oldText: string; newText: string }

/** Returns the only reading that fits the file; null when none or more than one does. @param plain the file with LF line breaks */
export function onlyReading(plain: string, oldText: string, newText: string): Reading | null {
  const readings = [...withoutNumbers(oldText, newText), ...withLineBreaks(oldText, newText)]
  const [reading, ...others] = readings.filter((one) => isWholeLines(plain, one.oldText))
  if (reading === undefined || others.some((other) => other.oldText !== reading.oldText)) return null
  return reading.kind === 'numbers' || isCertain(plain, oldText, newText, reading) ? reading : null
}

/** True for a text that is whole lines where it occurs first; one that occurs more than once is refused when it is replaced. */
function isWholeLines(plain: string, text: string): boolean {
  const at = plain.indexOf(text)
  if (at === -1) return false
  const end = at + text.length
  const isAtEnd = text.endsWith('\n') || end === plain.length || plain[end] === '\n'
  return (at === 0 || plain[at - 1] === '\n') && isAtEnd
}

/** A line of a view: a number that is six wide, and a tab, which is often missing where nothing follows. */
const NUMBERED = /^(?=.{6}) *(\d+)(?:\t|$)/
/** The first line of a text often lacks its spaces. */
const TRIMMED = /^(\d+)(?:\t|$)/
const BEGINS_WITH_NUMBER = /^ *\d+\t/m

/** True when a line of the text begins like one of a view. */
export const hasNumbers = (text: string): boolean => BEGINS_WITH_NUMBER.test(text)

/** The text without the numbers of those of its lines that have one. */
export const withoutAnyNumbers = (text: string): string => text.replaceAll(/^ *\d+\t/gm, '')

/** Without the numbers of every line of both texts, or of the old one alone; none when only some lines have them. */
function withoutNumbers(oldText: string, newText: string): Reading[] {
  const before = unnumbered(oldText)
  if (before === null) return []
  const reading = (text: string): Reading => ({ kind: 'numbers', oldText: before.text, newText: text })
  const after = unnumbered(newText)
  if (after !== null && after.first === before.first) return [reading(after.text)]
  // Such a number may be of a view or of the line itself.
  return hasNumbers(newText) ? [] : [reading(newText)]
}

/** The text without numbers that follow each other, and the first one; null when a line has none. */
function unnumbered(text: string): { text: string; first: number } | null {
  const lines = text.split('\n')
  const last = lines.at(-1) === '' ? lines.pop() : undefined
  const patternOf = (at: number) => (at === 0 && lines.length > 1 && TRIMMED.test(lines[0]!) ? TRIMMED : NUMBERED)
  const numbers = lines.map((line, at) => Number(patternOf(at).exec(line)?.[1] ?? NaN))
  const [first = NaN] = numbers
  if (Number.isNaN(first) || numbers.some((number, at) => number !== first + at)) return null
  const bare = lines.map((line, at) => line.replace(patternOf(at), ''))
  return { text: [...bare, ...(last === undefined ? [] : [last])].join('\n'), first }
}

const ALL: Readonly<Record<string, string>> = { n: '\n', t: '\t', '"': '"', '\\': '\\' }

/** With line breaks alone in place of their escapes, and with those of JSON; none for texts that have line breaks. */
function withLineBreaks(oldText: string, newText: string): Reading[] {
  if (/\n/.test(oldText + newText) || !oldText.includes('\\n')) return []
  return [{ n: '\n' }, ALL].map((meaning): Reading => {
    const decode = (text: string) => text.replaceAll(/\\(.)/g, (pair, char: string) => meaning[char] ?? pair)
    return { kind: 'line breaks', oldText: decode(oldText), newText: decode(newText) }
  })
}

/** True when every escape of the new text has one meaning: that of the old text, which the file confirms. */
function isCertain(plain: string, oldText: string, newText: string, reading: Reading): boolean {
  const kinds = (text: string) => new Set(Array.from(text.matchAll(/\\(.)/g), ([, char]) => char))
  const confirmed = kinds(oldText)
  if ([...kinds(newText)].some((char) => !confirmed.has(char))) return false
  const known = new Set(reading.oldText.split('\n'))
  const words = new Set(plain.match(FIRST_WORD))
  const lines = reading.newText.split('\n')
  return lines.slice(1).every((line, before) => {
    const previous = lines[before]!
    if (!known.has(previous) && (!isClosed(previous) || /[ \t]$/.test(previous))) return false
    if (line === '') return before + 2 < lines.length || reading.oldText.endsWith('\n')
    return known.has(line) || /^(?: {2}|\t)/.test(line) || words.has(line.match(FIRST_WORD)?.[0] ?? '')
  })
}

/** A word at the beginning of a line. `\name` of TeX and `C:\new` have none that a line of their file begins with. */
const FIRST_WORD = /^[a-z_]\w+/gim

/** False where a string or a pattern may be open at the end of the line, so that `\n` may mean its two characters. */
function isClosed(line: string): boolean {
  const bare = line.replaceAll(/\\./g, '').replaceAll(/<\/|\/>/g, '')
  return ["'", '"', '`', '/'].every((mark) => bare.split(mark).length % 2 === 1)
}
