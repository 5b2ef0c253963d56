/** Output of commands that run: pieces by their place, until the stored results replace them. Pure. */
import { membersOf, numberOf, textOf } from './read.ts'

/** `skipped`: characters of the output before `text` that the page does not have. */
export type LiveOutput = { readonly text: string; readonly skipped: number }

/** Characters that are kept of one output, at least; up to twice as many until they are cut. */
const KEPT = 65_536

/**
 * The output with an `output` frame, which replaces what was known from its offset on. Text that does not follow what is known replaces all of
 * it: lines that are not neighbours are never joined.
 */
export function withOutput(known: LiveOutput | undefined, frame: unknown): LiveOutput {
  const members = membersOf(frame)
  const offset = numberOf(members['offset']) ?? 0
  const before = known !== undefined && joins(known, offset) ? known : { text: '', skipped: offset }
  return shortened(before.text.slice(0, offset - before.skipped) + textOf(members['text']), before.skipped)
}

const joins = ({ text, skipped }: LiveOutput, offset: number) => offset >= skipped && offset <= skipped + text.length

/** Cuts the beginning of a long output, at the end of a line where there is one. */
function shortened(text: string, skipped: number): LiveOutput {
  if (text.length <= 2 * KEPT) return { text, skipped }
  const from = text.length - KEPT
  const cut = text.indexOf('\n', from) + 1 || from
  return { text: text.slice(cut), skipped: skipped + cut }
}
