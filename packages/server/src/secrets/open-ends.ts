/** Finds the end of a text that may be the beginning of a secret. The time grows with the length of that end alone. */
import { PREFIX_CHARS } from './find-forms.ts'
import { byCharacters, upperBound } from './sorted-texts.ts'

/**
 * Returns a function for the longest end of a text, at or behind a position, with which a longer form begins: its start, or the
 * length of the text when there is none.
 */
export function openEnds(forms: readonly string[]): (text: string, from: number) => number {
  const firsts = new Set(forms.map((form) => form.charCodeAt(0)))
  const prefixes = [...new Set(forms.map((form) => form.slice(0, PREFIX_CHARS)))].toSorted(byCharacters)
  const long = forms.filter((form) => form.length > PREFIX_CHARS).map((form) => openEndOf(form))
  const isBeginning = (text: string): boolean =>
    prefixes[upperBound(prefixes, text, (prefix) => prefix)]?.startsWith(text) === true

  return (text, from) => {
    const start = Math.min(text.length, ...long.map((openEnd) => openEnd(text, from)))
    for (let at = Math.max(from, text.length - PREFIX_CHARS + 1); at < start; at++)
      if (firsts.has(text.charCodeAt(at)) && isBeginning(text.slice(at))) return at
    return start
  }
}

/** The same for one long form, and for ends of at least `PREFIX_CHARS` characters (search of Knuth, Morris and Pratt). */
function openEndOf(form: string): (text: string, from: number) => number {
  const prefix = form.slice(0, PREFIX_CHARS)
  let borders: Int32Array | null = null
  return (text, from) => {
    const first = text.indexOf(prefix, Math.max(from, text.length - form.length + 1))
    if (first === -1) return text.length
    borders ??= bordersOf(form)
    let length = 0
    for (let at = first; at < text.length; at++) length = extended(form, borders, length, text.charCodeAt(at))
    return length < PREFIX_CHARS ? text.length : text.length - length
  }
}

/** For each beginning of a text: length of the longest shorter beginning with which it ends. */
function bordersOf(text: string): Int32Array {
  const borders = new Int32Array(text.length)
  for (let at = 1; at < text.length; at++) borders[at] = extended(text, borders, borders[at - 1]!, text.charCodeAt(at))
  return borders
}

/** Length of the longest beginning of `form` at the end of a text that ended with one of `length` characters and gets one more. */
function extended(form: string, borders: Int32Array, length: number, next: number): number {
  while (length > 0 && form.charCodeAt(length) !== next) length = borders[length - 1]!
  return form.charCodeAt(length) === next ? length + 1 : length
}
