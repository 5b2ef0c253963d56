/** Transfers the indentation of a file to lines that a model wrote with another one. Pure. Source: agent-core.md 8.3. */

/** Changes the indentation of one line; null when the line does not fit. */
type Reindent = (indent: string) => string | null

/**
 * Returns `lines` with the indentation that turns each line of `written` into the line of `found` at the same index: the same prefix
 * more or less, or tabs for spaces. Null when no such rule fits every line, so that the result would be a guess.
 */
export function reindented(
  lines: readonly string[],
  written: readonly string[],
  found: readonly string[],
): string[] | null {
  const pairs = written.flatMap((line, index) =>
    line.trim() === '' ? [] : [{ from: indentOf(line), to: indentOf(found[index]!) }],
  )
  for (const rule of rules(pairs)) {
    if (pairs.some(({ from, to }) => rule(from) !== to)) continue
    const changed = lines.map((line) => applied(rule, line))
    if (changed.every((line) => line !== null)) return changed
  }
  return null
}

const indentOf = (line: string): string => /^\s*/.exec(line)![0]

function applied(rule: Reindent, line: string): string | null {
  if (line.trim() === '') return line.trim()
  const indent = rule(indentOf(line))
  return indent === null ? null : indent + line.trimStart()
}

const UNITS = ['\t', '  ', '    ', '   ', '        ']

function* rules(pairs: readonly { from: string; to: string }[]): Iterable<Reindent> {
  yield (indent) => indent
  const [first] = pairs
  if (first === undefined) return
  const { from, to } = first
  if (to.endsWith(from)) {
    const more = to.slice(0, to.length - from.length)
    yield (indent) => more + indent
  }
  if (from.endsWith(to)) {
    const less = from.slice(0, from.length - to.length)
    yield (indent) => (indent.startsWith(less) ? indent.slice(less.length) : null)
  }
  for (const unit of UNITS) for (const other of UNITS) if (unit !== other) yield converted(unit, other)
}

/** Each whole `unit` becomes `other`. */
const converted =
  (unit: string, other: string): Reindent =>
  (indent) => {
    const count = indent.length / unit.length
    return Number.isInteger(count) && unit.repeat(count) === indent ? other.repeat(count) : null
  }
