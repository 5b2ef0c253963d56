/**
 * Commands inside a text: !`command` is replaced by the output of the command. Source: agent-core.md 6.5.
 *
 * Invariants
 *   I1. Code is unchanged: fenced blocks (an unclosed one extends to the end) and code spans.
 *   I2. A backslash before a command makes it plain text, without the backslash.
 */
export type Piece = { kind: 'text'; text: string } | { kind: 'command'; command: string }

/** The text split into plain text and commands, in order. */
export function inlineCommands(text: string): Piece[] {
  const pieces: Piece[] = []
  for (const { isCode, text: part } of blocks(text)) {
    if (isCode) add(pieces, part)
    else scan(part, pieces)
  }
  return pieces
}

/** The commands of a text, in order. */
export const commandsIn = (text: string): string[] =>
  inlineCommands(text).flatMap((piece) => (piece.kind === 'command' ? [piece.command] : []))

/** The text without fenced code, and with two backticks in the place of each code span. */
export function outsideCode(text: string): string {
  return blocks(text)
    .map(({ isCode, text: part }) => (isCode ? '\n' : outsideSpans(part)))
    .join('')
}

function outsideSpans(text: string): string {
  let shown = ''
  let from = 0
  for (let at = text.indexOf('`'); at !== -1; at = text.indexOf('`', from)) {
    shown += `${text.slice(from, at)}\`\``
    from = endOfSpan(text, at)
  }
  return shown + text.slice(from)
}

/** Splits a text into fenced code and other text. */
function blocks(text: string): { isCode: boolean; text: string }[] {
  const found: { isCode: boolean; text: string }[] = []
  let fence: string | null = null
  for (const line of text.split(/(?<=\n)/)) {
    const mark = /^ {0,3}(`{3,}|~{3,})(.*)/s.exec(line)
    const isCode = fence !== null || mark !== null
    if (fence === null) fence = mark?.[1] ?? null
    else if (mark?.[1]?.startsWith(fence) === true && mark[2]?.trim() === '') fence = null
    const last = found.at(-1)
    if (last?.isCode === isCode) last.text += line
    else found.push({ isCode, text: line })
  }
  return found
}

function scan(text: string, pieces: Piece[]): void {
  let plainFrom = 0
  let at = 0
  const flush = (to: number) => add(pieces, text.slice(plainFrom, to))
  while (at < text.length) {
    if (text.startsWith('\\!`', at)) {
      flush(at)
      plainFrom = at + 1
      at = endOfSpan(text, at + 2)
    } else if (text.startsWith('!`', at) && text[at + 2] !== '`') {
      const end = text.indexOf('`', at + 2)
      const command = end === -1 ? '' : text.slice(at + 2, end)
      if (command.trim() === '' || command.includes('\n')) {
        at += 1
        continue
      }
      flush(at)
      pieces.push({ kind: 'command', command: command.trim() })
      at = plainFrom = end + 1
    } else if (text[at] === '`') {
      at = endOfSpan(text, at)
    } else {
      at += 1
    }
  }
  flush(text.length)
}

/** End of the code span that begins at `at`; end of its backticks when it is never closed. */
function endOfSpan(text: string, at: number): number {
  const marks = /^`+/.exec(text.slice(at, at + 100))?.[0] ?? '`'
  let end = text.indexOf(marks, at + marks.length)
  while (end !== -1 && (text[end + marks.length] === '`' || text[end - 1] === '`'))
    end = text.indexOf(marks, end + marks.length + 1)
  return end === -1 ? at + marks.length : end + marks.length
}

function add(pieces: Piece[], text: string): void {
  if (text === '') return
  const last = pieces.at(-1)
  if (last?.kind === 'text') last.text += text
  else pieces.push({ kind: 'text', text })
}
