/** Notes of agents for later sessions, as one bounded text. Source: agent-core.md 6.6. */

/** Characters of all notes together. */
const MAX_CHARS = 6000

export const MEMORY_FILE = '.openhands/memory/MEMORY.md'

/** Removed from notes, so that they cannot end their section of the prompt. */
const END_OF_NOTES = /<\/memory>?/gi

export type TitledNotes = { title: string; text: string }

/** The notes under their titles; null when there are none. Notes that are too long lose their oldest lines. */
export function memoryText(notes: readonly TitledNotes[]): string | null {
  const kept = notes
    .map(({ title, text }) => ({ title, text: text.replaceAll(END_OF_NOTES, '').trim() }))
    .filter(({ text }) => text !== '')
  if (kept.length === 0) return null
  const shares = shareOut(kept.map(({ text }) => text.length))
  return kept.map(({ title, text }, at) => `## ${title}\n${newestLines(text, shares[at]!)}`).join('\n\n')
}

/** Divides the limit; characters that a short text does not use go to the others. */
function shareOut(lengths: readonly number[]): number[] {
  const shares = lengths.map(() => 0)
  let left = MAX_CHARS
  const byLength = lengths.map((length, at) => ({ length, at })).toSorted((a, b) => a.length - b.length)
  for (const [done, { length, at }] of byLength.entries()) {
    shares[at] = Math.min(length, Math.floor(left / (byLength.length - done)))
    left -= shares[at]
  }
  return shares
}

function newestLines(text: string, max: number): string {
  if (text.length <= max) return text
  const notice = '[Older notes were left out.]'
  const lines = text.split('\n')
  let size = text.length + notice.length + 1
  while (lines.length > 0 && size > max) size -= lines.shift()!.length + 1
  return [notice, ...lines].join('\n')
}
