/** The text, or its head and tail around a notice when it has more than `limit` characters; never longer than `limit`. */
export function truncateMiddle(text: string, limit: number): string {
  if (text.length <= limit) return text
  const notice = `\n[… ${text.length - limit} or more characters left out …]\n`
  const room = limit - notice.length
  if (room <= 0) return notice.slice(0, limit)
  // The head gets the odd character. Source: agent-core.md 8.1.
  const tail = Math.floor(room / 2)
  return text.slice(0, room - tail) + notice + text.slice(text.length - tail)
}
