/** A text of at most `max` characters; the middle of a longer one is replaced by `notice`. */
export function truncateMiddle(text: string, max: number, notice: string): string {
  if (text.length <= max) return text
  const kept = Math.max(max - notice.length - 2, 0)
  const head = Math.ceil(kept / 2)
  return `${text.slice(0, head)} ${notice} ${text.slice(text.length - (kept - head))}`
}
