/** Replaces the text from offset `from` to offset `to`, which is not part of the replaced text; the same offset twice inserts. */
export type Edit = { from: number; to: number; text: string }

/** Returns the text after edits that do not overlap, in any order. */
export function replaced(code: string, edits: readonly Edit[]): string {
  let at = 0
  let text = ''
  for (const { from, to, text: by } of edits.toSorted((one, other) => one.from - other.from)) {
    text += code.slice(at, from) + by
    at = to
  }
  return text + code.slice(at)
}
