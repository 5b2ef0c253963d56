/** Order of code units, in which a text comes directly before those that begin with it. */
export const byCharacters = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** Index of the first item after `text` in a list in that order. */
export function upperBound<T>(ordered: readonly T[], text: string, textOf: (item: T) => string): number {
  let [low, high] = [0, ordered.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (textOf(ordered[middle]!) <= text) low = middle + 1
    else high = middle
  }
  return low
}
