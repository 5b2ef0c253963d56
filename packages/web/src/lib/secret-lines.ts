/** Secrets in a pasted text with lines such as `NAME=value`, as files of variables have them. Pure. */

export type SecretLine = { readonly name: string; readonly value: string }

const LINE = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=(.*)$/
const MARKED = /^(["'])(.*)\1$/s

/** The secrets of a text whose lines all have a name; null for any other text, such as a value of several lines. Empty lines and comments count as none. */
export function secretLines(text: string): readonly SecretLine[] | null {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '' && !/^\s*#/.test(line))
  const found = lines.map((line) => LINE.exec(line))
  const read = found.flatMap((match) => (match === null ? [] : [{ name: match[1]!, value: valueOf(match[2]!) }]))
  return read.length === lines.length && read.length > 0 ? read : null
}

function valueOf(text: string): string {
  const value = text.trim()
  return MARKED.exec(value)?.[2] ?? value
}
