/**
 * Cuts a text of more than `limit` characters to its head and tail around a notice; the result has at most `limit` characters.
 */
export function truncateMiddle(text: string, limit: number): string {
  if (text.length <= limit) return text
  const notice = `\n[… ${text.length - limit} or more characters left out …]\n`
  const kept = limit - notice.length
  if (kept <= 0) return notice.slice(0, limit)
  // The head gets the odd character. Source: agent-core.md 8.1.
  const tail = Math.floor(kept / 2)
  return text.slice(0, kept - tail) + notice + text.slice(text.length - tail)
}
