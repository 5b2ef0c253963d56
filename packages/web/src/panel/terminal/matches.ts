/** Lines of outputs that contain a text. Pure. */

export type Match = { readonly line: number; readonly text: string }

/** Lines of one command that are listed. */
const MAX = 200
/** Characters of a listed line. */
const WIDTH = 400

/** Lines that contain `sought`, in any case; those beyond the first are counted. `line` counts from 1. */
export function matchesIn(text: string, sought: string): { lines: Match[]; count: number } {
  const wanted = sought.toLowerCase()
  const lines: Match[] = []
  let count = 0
  for (const [index, line] of text.split('\n').entries()) {
    const at = line.toLowerCase().indexOf(wanted)
    if (at === -1) continue
    count += 1
    const from = Math.max(0, at - WIDTH / 2)
    if (lines.length < MAX) lines.push({ line: index + 1, text: line.slice(from, from + WIDTH) })
  }
  return { lines, count }
}

/** The parts of a line, those that are sought marked. */
export function partsOf(line: string, sought: string): { text: string; isSought: boolean }[] {
  const parts: { text: string; isSought: boolean }[] = []
  const lower = line.toLowerCase()
  const wanted = sought.toLowerCase()
  let from = 0
  // A character may have another length in lower case; then nothing is marked.
  for (let at = lower.indexOf(wanted); at !== -1 && lower.length === line.length; at = lower.indexOf(wanted, from)) {
    parts.push({ text: line.slice(from, at), isSought: false })
    parts.push({ text: line.slice(at, at + sought.length), isSought: true })
    from = at + sought.length
  }
  return [...parts, { text: line.slice(from), isSought: false }].filter(({ text }) => text !== '')
}
