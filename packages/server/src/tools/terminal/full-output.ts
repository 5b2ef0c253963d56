/** Output that is longer than a model should read: cut in the middle, with the whole of it in a file. */
import { createHash } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** UTF-16 units of one observation. Source: agent-core.md 8.2. */
export const MAX_OUTPUT_CHARS = 30_000

/** Puts a text where the commands of the conversation can read it; its path. */
export type Keep = (name: string, text: string) => Promise<string>

/** Keeps texts in a folder of this machine, which only its user can read. */
export const keepIn =
  (folder: string): Keep =>
  async (name, text) => {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await writeFile(join(folder, name), text, { mode: 0o600 })
    return join(folder, name)
  }

export type Shortened = { text: string; savedIn: string | null }

/**
 * The text, or its head (with the odd character) and tail around a notice that names the file and the line where the gap
 * begins. The name follows from the content, so saving twice makes one file. Source: agent-core.md 8.1.
 */
export async function shorten(
  text: string,
  keep: Keep,
  { maxChars = MAX_OUTPUT_CHARS, prefix = 'terminal' }: { maxChars?: number; prefix?: string } = {},
): Promise<Shortened> {
  if (text.length <= maxChars) return { text, savedIn: null }
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 8)
  const path = await keep(`${prefix}_output_${hash}.txt`, text)
  // The notice is a little longer or shorter with its numbers; room for the longest keeps the sum within the bound.
  const room = maxChars - notice(text.length, path, text.length).length
  const tailChars = Math.max(0, Math.floor(room / 2))
  const head = text.slice(0, Math.max(0, room - tailChars))
  const gapLine = head.split('\n').length
  const left = text.length - head.length - tailChars
  return { text: head + notice(left, path, gapLine) + text.slice(text.length - tailChars), savedIn: dirname(path) }
}

const notice = (chars: number, path: string, line: number): string =>
  `\n[${chars} characters left out here. The whole output is in ${path}; the gap begins in its line ${line}.]\n`
