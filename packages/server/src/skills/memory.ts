/** Notes that agents keep for later sessions, as one bounded text. Source: agent-core.md 6.6. */

/** Characters of all notes together. */
const MAX_CHARS = 6000

export const MEMORY_FILE = '.openhands/memory/MEMORY.md'

/** Nothing in the notes ends the part of the prompt that they stand in. */
const END_OF_NOTES = /<\/memory>?/gi

export type Notes = { title: string; text: string }

/** The notes under their titles; null when there are none. Where they are too long, each loses its oldest lines. */
export function memoryText(notes: readonly Notes[]): string | null {
  const kept = notes
    .map(({ title, text }) => ({ title, text: text.replaceAll(END_OF_NOTES, '').trim() }))
    .filter(({ text }) => text !== '')
  if (kept.length === 0) return null
  const shares = shareOut(kept.map(({ text }) => text.length))
  return kept.map(({ title, text }, at) => `## ${title}\n${newestLines(text, shares[at]!)}`).join('\n\n')
}

/** What a short text does not use, the others may. */
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
