/** Shortens output in the middle and saves the whole of it to a file. */
import { createHash } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** UTF-16 units of one observation. Source: agent-core.md 8.2. */
const MAX_OUTPUT_CHARS = 30_000

/** Saves a text where the commands of the conversation can read it; resolves to its path. */
export type Keep = (name: string, text: string) => Promise<string>

/** Saves texts in a folder of this machine that only its user can read. */
export const keepIn =
  (folder: string): Keep =>
  async (name, text) => {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await writeFile(join(folder, name), text, { mode: 0o600 })
    return join(folder, name)
  }

export type Shortened = { text: string; savedIn: string | null }

/**
 * Returns the text, or its head (with the odd character) and tail around a notice that names the file and the line
 * where the gap
 * begins. The name derives from the content, so saving twice makes one file. Source: agent-core.md 8.1.
 */
export async function shorten(
  text: string,
  keep: Keep,
  { maxChars = MAX_OUTPUT_CHARS, prefix = 'terminal' }: { maxChars?: number; prefix?: string } = {},
): Promise<Shortened> {
  if (text.length <= maxChars) return { text, savedIn: null }
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 8)
  const path = await keep(`${prefix}_output_${hash}.txt`, text)
  // The length of the notice varies with its numbers; reserving the longest keeps the sum within the limit.
  const available = maxChars - notice(text.length, path, text.length).length
  const tailChars = Math.max(0, Math.floor(available / 2))
  const head = text.slice(0, Math.max(0, available - tailChars))
  const gapLine = head.split('\n').length
  const left = text.length - head.length - tailChars
  return { text: head + notice(left, path, gapLine) + text.slice(text.length - tailChars), savedIn: dirname(path) }
}

const notice = (chars: number, path: string, line: number): string =>
  `\n[${chars} characters left out here. The whole output is in ${path}; the gap begins in its line ${line}.]\n`
