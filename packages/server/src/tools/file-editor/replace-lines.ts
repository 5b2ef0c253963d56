/** The replacement of whole lines whose white space differs from that of the model. Pure. Source: agent-core.md 8.3. */
import { findLines, linesOf, nearestLines, type Line } from '../line-match.ts'
import { Refusal } from '../refusal.ts'
import { reindented } from './indentation.ts'
import { hasNumbers, withoutAnyNumbers } from './readings.ts'

/** Lines `from` to `to` (counted from 0, `to` excluded) and the lines in their place. */
export type LineChange = { from: number; to: number; lines: string[] }

const SHOWN_NEAREST = 3
const MAX_SHOWN_CHARS = 200

/**
 * Finds the lines of `oldText` as whole lines, with relaxed white space, and gives the new ones the indentation of the file. Null when the
 * lines do not occur.
 * @throws Refusal when they occur more than once, or when their indentation fits no rule.
 */
export function replacementOfLines(lines: readonly Line[], oldText: string, newText: string): LineChange | null {
  for (const [wanted, fresh] of readings(oldText, newText)) {
    const found = findLines(lines, wanted)
    if (found === null) continue
    const at = (place: number) => lines.slice(place, place + wanted.length).map((line) => line.text)
    // The others have another shape, to which the indentation of the old text leads by no rule.
    const shifted = found.places.filter((place) => reindented([], wanted, at(place)) !== null)
    const [from = 0, ...others] = shifted.length === 1 ? shifted : found.places
    if (others.length > 0) throw ambiguous(found.places.map((place) => place + 1))
    const to = from + wanted.length
    const result = reindented(fresh, wanted, at(from))
    if (result !== null) return { from, to, lines: result }
    throw new Refusal(
      `old_str was found in line ${from + 1} only with another indentation, which cannot be transferred to new_str. The lines of the file:\n${shown(lines, range(from, Math.min(to, from + 20)))}\nRepeat the call with this indentation.`,
    )
  }
  return null
}

/** Both texts as lines; then both without the empty lines at their edges. */
function* readings(oldText: string, newText: string): Iterable<[string[], string[]]> {
  const wanted = textsOf(oldText)
  const isWhole = oldText.endsWith('\n')
  const fresh = newText === '' && !isWhole ? [''] : textsOf(newText)
  yield [wanted, fresh]
  const [before, after] = blankEdges(wanted)
  const [freshBefore, freshAfter] = blankEdges(fresh)
  if (before + after === 0) return
  yield [
    wanted.slice(before, wanted.length - after),
    fresh.slice(Math.min(before, freshBefore), fresh.length - Math.min(after, freshAfter)),
  ]
}

const textsOf = (text: string): string[] => linesOf(text).map((line) => line.text)

/** Number of blank lines at the beginning and at the end; a text of blank lines has none at its end. */
function blankEdges(lines: readonly string[]): [number, number] {
  const first = lines.findIndex((line) => line.trim() !== '')
  if (first === -1) return [lines.length, 0]
  return [first, lines.length - 1 - lines.findLastIndex((line) => line.trim() !== '')]
}

/** The refusal of a text that occurs more than once. @param numbers lines, counted from 1 */
export function ambiguous(numbers: readonly number[]): Refusal {
  return new Refusal(
    `old_str was found ${numbers.length} times, in lines ${numbers.join(', ')}. Include more of the text around it, so that it is unique.`,
  )
}

/** The refusal of a text that does not occur, with the lines that are most like it. */
export function notFound(lines: readonly Line[], oldText: string): Refusal {
  const isNumbered = hasNumbers(oldText)
  const longest = textsOf(isNumbered ? withoutAnyNumbers(oldText) : oldText).reduce(
    (best, line) => (line.trim().length > best.trim().length ? line : best),
    '',
  )
  const nearest = nearestLines(lines, longest, SHOWN_NEAREST)
  const hint =
    nearest.length === 0
      ? ' View the file first.'
      : `\nThe nearest lines are:\n${shown(
          lines,
          nearest.map((number) => number - 1),
        )}`
  const numbers = isNumbered ? ' Leave the line numbers of the view out of old_str and new_str.' : ''
  return new Refusal(
    `old_str was not found in the file. It must match the text exactly, or whole lines apart from their white space.${numbers}${hint}`,
  )
}

function shown(lines: readonly Line[], indices: readonly number[]): string {
  return indices
    .map((index) => `${String(index + 1).padStart(6)}\t${lines[index]!.text.slice(0, MAX_SHOWN_CHARS)}`)
    .join('\n')
}

const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, index) => from + index)
