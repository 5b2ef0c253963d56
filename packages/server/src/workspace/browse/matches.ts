/** Order of the paths that a search by name finds. Pure. */

/** The paths that contain every word of a query, in any case: matches in the name before those in a directory, short paths first. */
export function matches(paths: readonly string[], query: string): string[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean)
  const found = paths.flatMap((path) => {
    const lower = path.toLowerCase()
    return words.every((word) => lower.includes(word)) ? [{ path, rank: rankOf(lower, words) }] : []
  })
  return found
    .toSorted((a, b) => a.rank - b.rank || a.path.length - b.path.length || (a.path < b.path ? -1 : 1))
    .map(({ path }) => path)
}

function rankOf(path: string, words: readonly string[]): number {
  const name = path.slice(path.lastIndexOf('/') + 1)
  if (words[0] !== undefined && name.startsWith(words[0])) return 0
  return words.some((word) => name.includes(word)) ? 1 : 2
}
