/**
 * Edits of a text as pure functions. Untouched lines keep their line endings; new lines get those of the file (F54).
 */
import { linesOf, type Line } from '../line-match.ts'
import { Refusal } from '../refusal.ts'
import { onlyReading, type Reading } from './readings.ts'
import { ambiguous, notFound, replacementOfLines, type LineChange } from './replace-lines.ts'

/** A changed text and its changed lines, counted from 1. `readAs`: how the place was found, where the old text does not occur as given. */
export type Edited = { text: string; firstLine: number; lastLine: number; readAs?: 'white space' | Reading['kind'] }

const SNIPPET_CONTEXT_LINES = 4

/**
 * Replaces the only occurrence of `oldText`; LF and CRLF match each other. A text that does not occur is compared with whole lines, with
 * relaxed white space, and the new lines get the indentation of the file; else without line numbers, and with `\n` as line breaks.
 * @throws Refusal when `oldText` is blank, equals `newText`, does not occur, or occurs more than once.
 */
export function replaceOnce(text: string, oldText: string, newText: string): Edited {
  if (oldText.trim() === '') throw new Refusal('old_str must contain more than white space.')
  if (oldText === newText) throw new Refusal('new_str must differ from old_str: nothing would change.')
  const plain = toLf(text)
  const wanted = text.includes('\r\n') ? toLf(oldText) : oldText
  const [at, ...others] = occurrences(plain, wanted)
  if (at === undefined) return replaceOther(text, toLf(oldText), toLf(newText))
  if (others.length > 0) throw ambiguous([at, ...others].map((index) => lineAt(plain, index)))
  if (isLineWithLessIndentation(plain, wanted, at)) return replaceOther(text, toLf(oldText), toLf(newText))
  const start = toOriginalIndex(text, at)
  const inserted = inLineEndingsOf(text, newText)
  const firstLine = lineAt(plain, at)
  return {
    text: text.slice(0, start) + inserted + text.slice(toOriginalIndex(text, at + wanted.length)),
    firstLine,
    lastLine: firstLine + countBreaks(inserted),
  }
}

/** True for one line that begins with a part of the indentation of the file: the further lines of the new text need the same shift. */
function isLineWithLessIndentation(plain: string, wanted: string, at: number): boolean {
  if (!/^[ \t]+[^\s][^\n]*\n?$/.test(wanted)) return false
  const before = plain.slice(plain.lastIndexOf('\n', at - 1) + 1, at)
  const end = at + wanted.length
  const isToEndOfLine = wanted.endsWith('\n') || end === plain.length || plain[end] === '\n'
  return at > 0 && before !== '' && before.trim() === '' && isToEndOfLine
}

/** Replaces a text that occurs only with other white space, or in another reading. @throws Refusal when it does not. */
function replaceOther(text: string, oldText: string, newText: string): Edited {
  const lines = linesOf(text)
  const change = replacementOfLines(lines, oldText, newText)
  if (change !== null) return replaceLines(text, lines, change)
  const reading = onlyReading(toLf(text), oldText, newText)
  if (reading === null) throw notFound(lines, oldText)
  return { ...replaceOnce(text, reading.oldText, reading.newText), readAs: reading.kind }
}

function replaceLines(text: string, lines: readonly Line[], change: LineChange): Edited {
  const eol = lineEnding(text)
  const isOpenEnd = change.to === lines.length && lines.at(-1)?.eol === ''
  const fresh = change.lines.map((line) => line + eol).join('')
  const rest = lines.slice(change.to)
  return {
    text: [
      ...lines.slice(0, change.from).map((line) => line.text + line.eol),
      isOpenEnd ? fresh.slice(0, fresh.length - eol.length) : fresh,
      ...rest.map((line) => line.text + line.eol),
    ].join(''),
    firstLine: change.from + 1,
    lastLine: change.from + Math.max(1, change.lines.length),
    readAs: 'white space',
  }
}

/**
 * Inserts `newText` as whole lines after line `afterLine` (0: at the beginning).
 * @throws Refusal when there is no such line.
 */
export function insertLines(text: string, afterLine: number, newText: string): Edited {
  const starts = lineStarts(text)
  if (afterLine < 0 || afterLine > starts.length) {
    throw new Refusal(`insert_line must be between 0 and ${starts.length}, the number of lines of the file.`)
  }
  const eol = lineEnding(text)
  const lines = inLineEndingsOf(text, newText)
  const at = starts[afterLine] ?? text.length
  const isAfterOpenLine = at === text.length && text !== '' && !text.endsWith('\n')
  // A file without a line break at its end still has none; elsewhere the next line must start on its own.
  const inserted = isAfterOpenLine ? eol + lines : lines.endsWith('\n') ? lines : lines + eol
  const added = inserted.split('\n').length - 1
  return {
    text: text.slice(0, at) + inserted + text.slice(at),
    firstLine: afterLine + 1,
    lastLine: afterLine + Math.max(1, added + (isAfterOpenLine && lines.endsWith('\n') ? -1 : 0)),
  }
}

/** Returns the number of lines; a line break at the end starts no further one. */
export function countLines(text: string): number {
  return lineStarts(text).length
}

/** Returns the lines `first` to `last`, counted from 1 and both included, in the format of `cat -n`. */
export function numbered(text: string, first: number, last: number): string {
  const starts = lineStarts(text)
  const rows: string[] = []
  for (let line = first; line <= Math.min(last, starts.length); line++) {
    const content = text.slice(starts[line - 1], starts[line] ?? text.length).replace(/\r?\n$/, '')
    rows.push(`${String(line).padStart(6)}\t${content}`)
  }
  return rows.join('\n')
}

/** Returns the edited lines with some lines around them, numbered. */
export function snippet({ text, firstLine, lastLine }: Edited): string {
  return numbered(text, Math.max(1, firstLine - SNIPPET_CONTEXT_LINES), lastLine + SNIPPET_CONTEXT_LINES)
}

/** Returns the line ending of most lines. */
function lineEnding(text: string): '\r\n' | '\n' {
  const crlf = text.split('\r\n').length - 1
  return crlf > countBreaks(text) - crlf ? '\r\n' : '\n'
}

function inLineEndingsOf(text: string, newText: string): string {
  // A file of one line, or with LF, gets the text as given.
  if (!text.includes('\r\n')) return newText
  return toLf(newText).replaceAll('\n', lineEnding(text))
}

const toLf = (text: string): string => text.replaceAll('\r\n', '\n')
const countBreaks = (text: string): number => text.split('\n').length - 1
const lineAt = (text: string, index: number): number => countBreaks(text.slice(0, index)) + 1

function occurrences(text: string, wanted: string): number[] {
  const found: number[] = []
  // Overlapping occurrences count: the intended one is unknown.
  for (let at = text.indexOf(wanted); at !== -1; at = text.indexOf(wanted, at + 1)) found.push(at)
  return found
}

/** Converts a position in the text with LF line breaks to one in the original. */
function toOriginalIndex(text: string, index: number): number {
  let shift = 0
  for (let at = text.indexOf('\r\n'); at !== -1 && at - shift < index; at = text.indexOf('\r\n', at + 2)) shift++
  return index + shift
}

function lineStarts(text: string): number[] {
  const starts: number[] = []
  for (let at = 0; at < text.length;) {
    starts.push(at)
    const end = text.indexOf('\n', at)
    if (end === -1) break
    at = end + 1
  }
  return starts
}
